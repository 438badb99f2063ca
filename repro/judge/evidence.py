"""The tests of a statement's terms, and the rule by which they settle it.

Seeds run along the first axis, so that the same lines judge one claim and, in the calibration
benchmark, many thousand simulated ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from repro.judge import futility
from repro.judge.design import Design
from repro.judge.scale import Array
from repro.judge.statistic import STUDENT, Statistic
from repro.judge.student import tail

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""The largest relative difference that counts as rounding."""

_DRAWS = 50_000
_SEED = 99


@dataclass(frozen=True)
class Evidence:
    """The test of one term in both directions; a small `p_for` says that it holds."""

    mean: Any
    spread: Any
    seeds: int
    p_for: Any
    p_against: Any
    statistic_for: Statistic = STUDENT
    statistic_against: Statistic = STUDENT


def weigh(differences: Array, *, resolution: Any = 0.0, sampling_variance: float = 0.0) -> Evidence:
    """Test against 0 by Student's t, in both directions.

    `sampling_variance` is that of the mean over the examples that all seeds were measured on: it
    does not shrink with more seeds, and is added to the variance of the mean over seeds.

    Differences without any spread (up to `resolution`, the rounding of their terms) come from
    quantities that do not depend on the seed. There is nothing to infer then and the statement is
    read off: positive holds; negative, and exactly 0, does not.

    >>> float(weigh(np.array([1.0, 1.0, 1.0])).p_for)
    0.0
    """
    seeds = len(differences)
    mean = differences.mean(axis=0)
    spread = np.hypot(differences.std(axis=0, ddof=1), (seeds * sampling_variance) ** 0.5)
    fixed = spread <= resolution
    t = mean / np.where(fixed, 1.0, spread) * np.sqrt(seeds)
    holds = mean > resolution
    return Evidence(
        mean=mean,
        spread=np.where(fixed, 0.0, spread)[()],
        seeds=seeds,
        p_for=np.where(fixed, np.where(holds, 0.0, 1.0), tail(t, seeds))[()],
        p_against=np.where(fixed, np.where(holds, 1.0, 0.0), tail(-t, seeds))[()],
    )


def settle(needed: list[Evidence], implied: list[Evidence], design: Design) -> tuple[Any, Any]:
    """Return whether a conjunction is reproduced, and whether it is refuted, at this look.

    Reproduced needs every needed term at this look (intersection-union: the level needs no
    correction); refuted needs any one term, at a level shared among them all (Bonferroni).
    """
    every = [*needed, *implied]
    holds = [p <= boundary for p, boundary in _to_hold(needed, design)]
    fails = [p <= boundary for p, boundary in _to_fail(every, design)]
    return np.all(holds, axis=0), np.any(fails, axis=0)


def is_hopeless(needed: list[Evidence], implied: list[Evidence], design: Design) -> Any:
    """Return True where more seeds, up to the last look, would hardly settle what is open.

    Giving up early can only cost power, which `Design.power` counts; no false verdict arises.
    """
    share = needed[0].seeds / design.looks[-1]
    return futility.is_hopeless(
        _to_hold(needed, design), _to_fail([*needed, *implied], design), share
    )


def _to_hold(terms: list[Evidence], design: Design) -> list[tuple[Any, float]]:
    """The p of each term, and the boundary at which it holds."""
    return [(term.p_for, design.boundary(statistic=term.statistic_for)) for term in terms]


def _to_fail(terms: list[Evidence], design: Design) -> list[tuple[Any, float]]:
    """The p of each term's opposite, and the boundary at which it fails."""
    return [
        (term.p_against, design.boundary(terms=len(terms), statistic=term.statistic_against))
        for term in terms
    ]


def is_skewed(differences: Array) -> bool:
    """Return True if at most 1 % of normal samples of this size are as skewed as this one."""
    return len(differences) > 2 and bool(
        abs(_skewness(differences)) > _usual_skewness(len(differences))
    )


def _skewness(differences: Array) -> Any:
    centred = differences - differences.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    return np.mean(centred**3, axis=0) / np.where(variance > 0, variance, 1.0) ** 1.5


@lru_cache(maxsize=64)
def _usual_skewness(seeds: int) -> float:
    draws = np.random.default_rng(_SEED).standard_normal((seeds, _DRAWS))
    return float(np.quantile(np.abs(_skewness(draws)), 0.99))
