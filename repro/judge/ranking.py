"""The agreement of a measured order with a claimed one: by pairs, and as a rank correlation.

The correlation is Kendall's tau-b of the claimed order with the order on each seed; its mean over
seeds has a t interval. With few arms tau takes few values (four for three arms), so the interval is
approximate, and where all seeds rank the arms alike it has no width. No verdict depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from repro.judge.scale import Array
from repro.judge.student import critical

Pair = tuple[int, int]
"""Two places in the claimed order, counted from 1."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The agreement of a measured order with the claimed one, which names the largest first.

    >>> verdict = trials([DEEP, MEDIUM, SHALLOW]).accuracy.is_ordered()
    >>> print(verdict.ranking)
    3 of 3 pairs as listed, 0 against, tau-b 1.00
    """

    arms: tuple[str, ...]
    as_claimed: tuple[Pair, ...]
    against: tuple[Pair, ...]
    open: tuple[Pair, ...]
    tau: float
    """The mean over seeds of Kendall's tau-b between the claimed order and that of one seed."""
    low: float
    high: float
    tau_of_means: float
    """The same for the order of the means, where the noise of single seeds is averaged out."""
    is_by_seed: bool = True
    """False where seeds are not paired: then no single seed has an order, and `tau` is of means."""

    def __str__(self) -> str:
        pairs = len(self.as_claimed) + len(self.against) + len(self.open)
        return (
            f"{len(self.as_claimed)} of {pairs} pairs as listed, {len(self.against)} against, "
            f"tau-b {self.tau:.2f}"
        )


def tau_b(values: Array) -> float:
    """Kendall's tau-b between falling order and these values; ties count as neither.

    >>> tau_b(np.array([5.0, 4.0, 3.0])), round(tau_b(np.array([5.0, 3.0, 4.0])), 3)
    (1.0, 0.333)
    """
    first, second = (values[list(places)] for places in zip(*_pairs(values), strict=True))
    signs = np.sign(first - second)
    untied = np.abs(signs).sum()
    return float(signs.sum() / np.sqrt(untied * len(signs))) if untied else 0.0


def rank_correlation(arms: Sequence[Array], boundary: float) -> tuple[float, float, float]:
    """The mean tau over seeds and the ends of its t interval at this p on each side.

    >>> rank_correlation([np.array([3.0, 3.0]), np.array([1.0, 2.0])], 0.005)
    (1.0, 1.0, 1.0)
    """
    taus = np.array([tau_b(seed) for seed in np.stack(arms, axis=1)])
    mean, spread, seeds = taus.mean(), taus.std(ddof=1), len(taus)
    half_width = critical(boundary, seeds - 1) * spread / seeds**0.5
    return float(mean), float(max(-1.0, mean - half_width)), float(min(1.0, mean + half_width))


def _pairs(values: Array) -> list[Pair]:
    return list(combinations(range(len(values)), 2))
