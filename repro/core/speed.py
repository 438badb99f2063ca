"""The speed of a program on a machine, as plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Speed:
    """The engine to train a program with, the runs to stack, and seconds for a step of one run."""

    engine: str
    width: int
    seconds: float
    not_stacked: str = ""
    """The reason why the stacked engine did not get through a few steps."""
    memory: int = 0
    """Bytes that its process held at most while it was timed; 0 where nobody looked."""


def unknown_speed(engine: str) -> Speed:
    """Return a speed for a program that could not be timed: training will tell why."""
    return Speed("loop" if engine == "auto" else engine, 1, math.inf)
