"""Student's t distribution, from `scipy.special`: `scipy.stats` is slow to import."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaincinv, nctdtr, stdtr, stdtrit  # type: ignore[import-untyped]

MOST_SEEDS = 200
"""The largest number of seeds that advice names."""

_DOUBTED = 0.01
"""The chance that the variance over seeds is larger than `freedom_with_examples` takes it to be."""


def tail(t: Any, freedom: Any) -> Any:
    """The chance of a t statistic above `t` when the true mean is 0."""
    return stdtr(freedom, -np.asarray(t))


def critical(p: Any, freedom: Any) -> Any:
    """The t statistic whose `tail` is `p`."""
    return -stdtrit(freedom, p)


def freedom_with_examples(
    fixed_variance: float, over_seeds: Any, seeds: Any, *, examples: int
) -> Any:
    """Return the degrees of freedom of a variance over seeds and one over examples, added.

    With few seeds, Satterthwaite's are by chance much too many now and then. Taken as they are,
    they would give the degrees of freedom of the examples to a t that is large by the same chance,
    and the level would be exceeded up to three times. So they are those of the largest variance
    over seeds that is not ruled out at 1 %; with that the level holds at any ratio of the two (by
    simulation in `tests/judge/test_judge_sampling.py`).

    >>> round(float(freedom_with_examples(0.001, 0.0001, 3, examples=300)), 1)
    2.4
    """
    if not fixed_variance:
        return seeds - 1
    largest = over_seeds * (seeds - 1) / (2 * gammaincinv((seeds - 1) / 2, _DOUBTED))
    both = largest**2 / (seeds - 1) + fixed_variance**2 / (examples - 1)
    return (largest + fixed_variance) ** 2 / both


def seeds_needed(
    effect: float,
    *,
    spread: float,
    boundary: float,
    fixed_variance: float = 0.0,
    examples: int = 0,
) -> int | None:
    """The seeds at which one t test at `boundary` finds this effect with 80 % power, or None.

    `fixed_variance` is the part of the variance of the mean that more seeds do not make smaller,
    since it comes from these `examples`.

    >>> seeds_needed(1.0, spread=1.0, boundary=0.025)
    10
    >>> seeds_needed(1.0, spread=1.0, boundary=0.025, fixed_variance=0.2, examples=300) is None
    True
    """
    seeds = np.arange(2, MOST_SEEDS + 1)
    over_seeds = spread**2 / seeds
    freedom = freedom_with_examples(fixed_variance, over_seeds, seeds, examples=examples)
    error = np.sqrt(over_seeds + fixed_variance)
    return _fewest(effect / error, freedom, critical(boundary, freedom))


@lru_cache(maxsize=4096)
def effect_found(t: float, freedom: float, *, power: float) -> float:
    """Return the mean, in standard errors, whose t statistic exceeds `t` with this power.

    >>> round(effect_found(2.262, 9, power=0.8), 2)
    3.15
    """
    low, high = t - 10.0, 10 * t + 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if 1 - nctdtr(freedom, middle, t) >= power else (middle, high)
    return high


def seeds_to_exceed(effect_in_sd: float, t: Callable[[Any], Any]) -> int | None:
    """The seeds at which the t statistic of this effect exceeds `t(seeds)` with 80 % power."""
    seeds = np.arange(2, MOST_SEEDS + 1)
    return _fewest(effect_in_sd * np.sqrt(seeds), seeds - 1, t(seeds))


def _fewest(distance: Any, freedom: Any, needed: Any) -> int | None:
    """The number of seeds, from 2 on, at which t exceeds what is needed with 80 % power."""
    chance = 1 - nctdtr(freedom, distance, needed)
    seeds = np.arange(2, MOST_SEEDS + 1)
    enough = seeds[chance >= 0.8]
    return int(enough[0]) if enough.size else None
