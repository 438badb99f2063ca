"""The events of a training: the progress of its runs, and each run that is done."""

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
