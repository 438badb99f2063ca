"""What a training tells meanwhile: how far its runs are, and each of them that is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from repro.arm import Run, Values


class Progress(NamedTuple):
    """The number of runs that train together, their steps so far, and all their steps."""

    runs: int
    step: int
    total: int


@dataclass(frozen=True)
class Finished:
    """A run with its values, and with the parameters that it ended with if its arm keeps them."""

    run: Run
    values: Values
    weights: bytes | None = None
