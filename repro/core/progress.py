"""The progress of runs that train together."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """The number of runs that train together, the steps they have taken, and how many there are."""

    runs: int
    step: int
    total: int
