"""Student's t distribution, from `scipy.special`: `scipy.stats` is slow to import."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import nctdtr, stdtr, stdtrit  # type: ignore[import-untyped]

MOST_SEEDS = 200
"""The largest number of seeds that advice names."""


def tail(t: Any, seeds: int) -> Any:
    """The chance of a t statistic of `seeds` differences above `t` when their true mean is 0."""
    return stdtr(seeds - 1, -np.asarray(t))


def critical(p: Any, seeds: Any) -> Any:
    """The t statistic whose `tail` is `p`."""
    return -stdtrit(seeds - 1, p)


def seeds_needed(effect_in_sd: float, *, boundary: float) -> int | None:
    """The seeds at which one t test at `boundary` finds this effect with 80 % power, or None.

    >>> seeds_needed(1.0, boundary=0.025)
    10
    """
    seeds = np.arange(2, MOST_SEEDS + 1)
    chance = 1 - nctdtr(seeds - 1, effect_in_sd * np.sqrt(seeds), critical(boundary, seeds))
    enough = seeds[chance >= 0.8]
    return int(enough[0]) if enough.size else None
