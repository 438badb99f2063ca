"""The p at which Welch's test keeps a level, however the spreads of the two samples differ.

Welch's p is that of any textbook, and nearly right for many seeds. With few, and with unequal
numbers of them, it errs more often than it says: at 3 seeds against 20 a p of 0.5 % comes three
times as often, since a sample whose spread is small by chance brings both a large t and many
degrees of freedom. So a comparison counts at a smaller p: the one whose chance is the level where
the spreads differ in the worst way. From 12 seeds an arm on it is next to no change.

That chance is an integral over one number, the share that one sample has of the squares of both:
given it, the statistic is Student's t times a known factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betaincinv, stdtr  # type: ignore[import-untyped]

from repro.judge.student import critical

_NODES = 400
_RATIOS = np.logspace(-3, 3, 37)[:, None]
_STEPS = 2
"""The number of chances that are computed for each halving of p; those between are interpolated."""

_TINY = 1e-30
"""The p below which nothing is computed: what lies below it counts as it does."""


@dataclass(frozen=True)
class Welch:
    """Welch's t of two independent samples of so many seeds.

    >>> round(Welch(3, 20).chance(0.005), 3), round(Welch(20, 20).chance(0.005), 4)
    (0.016, 0.0051)
    """

    first: int
    second: int

    def chance(self, p: float) -> float:
        """Return the largest chance of this p or a smaller one, where the means are the same."""
        return p * _ratio_at(p, *sorted((self.first, self.second))) if p > 0 else 0.0

    def keeping(self, level: float) -> float:
        """Return the p that comes with this chance at most.

        >>> welch = Welch(3, 20)
        >>> 0.0049 < welch.chance(welch.keeping(0.005)) < 0.0051
        True
        """
        return _keeping(level, *sorted((self.first, self.second)))


@lru_cache(maxsize=4096)
def _keeping(level: float, few: int, many: int) -> float:
    low, high = math.log(_TINY), math.log(level)
    if _TINY * _ratio_at(_TINY, few, many) > level:
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        p = math.exp(middle)
        low, high = (middle, high) if p * _ratio_at(p, few, many) <= level else (low, middle)
    return math.exp(low)


def _ratio_at(p: float, few: int, many: int) -> float:
    fraction, step = math.modf(-math.log2(max(p, _TINY)) * _STEPS)
    before, after = (_log_ratio(step + each, few, many) for each in (0, 1))
    return math.exp((1 - fraction) * before + fraction * after)


@lru_cache(maxsize=4096)
def _log_ratio(step: float, few: int, many: int) -> float:
    """Return the logarithm of the largest chance of p = 2 ** (-step / 2), over p."""
    p = 2 ** (-step / _STEPS)
    share, weights = _shares(few, many)
    parts = _RATIOS * share / (few - 1), (1 - share) / (many - 1)
    total = parts[0] + parts[1]
    freedom = total**2 / (parts[0] ** 2 / (few - 1) + parts[1] ** 2 / (many - 1))
    both = few + many - 2
    t = critical(p, freedom) * np.sqrt(both * total / (_RATIOS + 1))
    chances = (stdtr(both, -t) * weights).sum(axis=1)
    return max(0.0, math.log(float(chances.max()) / p))  # where one sample rules, it is p itself


@lru_cache(maxsize=64)
def _shares(few: int, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return shares of the squares and their weights, close together towards both ends."""
    at = (np.arange(_NODES) + 0.5) / _NODES
    weights = 6 * at * (1 - at) / _NODES
    return betaincinv((few - 1) / 2, (many - 1) / 2, at**2 * (3 - 2 * at)), weights
