"""The progress of runs that train together."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """The number of runs that train together, their steps so far, and all their steps."""

    runs: int
    step: int
    total: int
