"""When to look, which error is allowed, and when to give up: fixed before the data.

The p thresholds grow with the seeds, `nominal * seeds / last look`, and the chance of ever crossing
one is exactly the requested level. A look at 5, 8 and 12 seeds with p <= 0.005 each time is wrong
in 1.2 % of cases, not 0.5 %. The thresholds for z statistics are not strict enough either: with few
seeds the t statistic changes more from look to look. So the t statistic itself is calibrated.

The calibration is a simulation that stays accurate at any level, however small. The chance that
*some* look crosses is the sum over looks of P(this look crosses) * E[1 / looks that cross, given
that this one does]. The first factor is the threshold of the look. Only the second is simulated. It
lies between 1/looks and 1: ten thousand draws give a relative error below 0.3 % at level 0.005 and
at level 0.000005 alike. Three standard errors are charged to the level, so that Monte Carlo error
makes the threshold stricter, never looser. The draws have a fixed random seed. This estimate of a
union of rare events is known as ALOE (Owen, Maximov and Chertkov 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from repro.judge.scale import Array
from repro.judge.statistic import STUDENT, Counted, Sign, Simulated, Statistic

_STEPS = 2
"""The thresholds simulated for each halving of p; values between them are interpolated."""

_TINY = 1e-12
"""Below this p the union bound replaces the simulation, which would divide by rounding errors."""

_DRAWS, _SEED = 10_000, 5_8_12

LEVEL = 0.005
"""The chance of a false verdict in one direction, where no other level is declared."""

LOWEST, HIGHEST = 0.0001, 0.05
"""The levels that can be declared."""

Read = TypeVar("Read")


def require_level(level: object) -> float:
    """Return a declared level; raises ValueError unless it is one.

    >>> require_level(0.01)
    0.01
    """
    is_number = isinstance(level, int | float) and not isinstance(level, bool)
    if is_number and LOWEST <= float(level) <= HIGHEST:  # type: ignore[arg-type]
        return float(level)  # type: ignore[arg-type]
    raise ValueError(
        f"level={level!r} is the chance of a false verdict in one direction: give a number from"
        f" {LOWEST:g} to {HIGHEST:g}, such as 0.01"
    )


@dataclass(frozen=True)
class Design:
    """The numbers of seeds at which to look, and the error allowed over all looks.

    Seeds are added up to each of the `looks` in turn, until the verdict stands. `level` is the
    chance of a false verdict where the true value lies exactly at the bound. A false `reproduced`
    has a chance of at most `level / 2`, and so has a false `refuted`.

    >>> print(Design(looks=(5, 8, 12)))
    looks at 5, 8, 12 seeds; false reproduced and false refuted at most 0.5% each
    """

    looks: tuple[int, ...]
    level: float = 0.01
    futility: float = 0.1
    """Looking stops where further seeds would settle the statement with less chance than this."""
    at_any_time: ClassVar[bool] = False
    """True where one may look after each run, as often as one likes."""

    def __post_init__(self) -> None:
        looks = self.looks
        if not looks or looks[0] < 2 or any(b <= a for a, b in pairwise(looks)):
            raise ValueError(
                f"looks={looks!r} must be growing numbers of seeds, the first at least 2, "
                "for example (5, 8, 12)"
            )
        if not 0 < self.level < 1:
            raise ValueError(f"level={self.level!r} must lie between 0 and 1, for example 0.01")

    @property
    def one_sided_level(self) -> float:
        """The chance allowed for a false verdict in one direction."""
        return self.level / 2

    @property
    def declared(self) -> tuple[int, ...]:
        """The declared looks; empty where all runs are looked at, once or at any time."""
        return self.looks

    def boundary(self, seeds: int, *, share: float = 1, statistic: Statistic = STUDENT) -> float:
        """The p at which one comparison counts by itself, at the look at `seeds`.

        `reproduced` needs all comparisons, so each may use the whole level. One comparison is
        enough for `refuted`, so there each has only a `share` of the level.
        """
        looks = self.declared or (seeds,)
        return threshold(looks, self.one_sided_level * share, statistic) * seeds / looks[-1]

    def level_at(self, p: float, seeds: int, *, statistic: Statistic = STUDENT) -> float:
        """Return the level at which these looks would have crossed this p at the look at `seeds`.

        >>> round(Design(looks=(5, 8, 12)).level_at(0.0018, 8), 4)
        0.005
        """
        looks = self.declared or (seeds,)
        return level_of(looks, min(1.0, p * looks[-1] / seeds), statistic)

    def read(self, evidence: Read) -> Read:
        """Return the evidence with the p that these looks are about."""
        return evidence

    def __str__(self) -> str:
        looks = ", ".join(map(str, self.looks))
        level = 100 * self.one_sided_level
        return (
            f"looks at {looks} seeds; false reproduced and false refuted at most {level:.2g}% each"
        )


@dataclass(frozen=True)
class OneLook(Design):
    """The design for results that exist already: one look at all of them, at the whole level.

    Comparisons may have different numbers of seeds; `looks` has the largest number.

    >>> OneLook(looks=(20,)).boundary(12)
    0.005
    """

    @property
    def declared(self) -> tuple[int, ...]:
        return ()


# --- The p thresholds.


@lru_cache(maxsize=256)
def threshold(looks: tuple[int, ...], level: float, statistic: Statistic = STUDENT) -> float:
    """Return the one-sided p of the last look, such that some look crosses with chance `level`.

    >>> threshold((8,), 0.005)
    0.005
    >>> round(threshold((5, 8, 12), 0.005), 4)
    0.0027
    """
    if isinstance(statistic, Sign | Counted):
        return statistic.threshold(looks, level)
    nominal = level
    for _ in range(6):  # the ratio hardly depends on the threshold, so this converges at once
        nominal = level / _ratio_at(looks, nominal, statistic)
    return nominal


def level_of(looks: tuple[int, ...], nominal: float, statistic: Statistic = STUDENT) -> float:
    """Return the level whose threshold is this p: the inverse of `threshold`.

    >>> round(level_of((5, 8, 12), threshold((5, 8, 12), 0.005)), 4)
    0.005
    """
    if isinstance(statistic, Sign | Counted):
        return statistic.chance_of_crossing(looks, nominal)
    return nominal * _ratio_at(looks, nominal, statistic) if nominal else 0.0


def _ratio_at(looks: tuple[int, ...], nominal: float, statistic: Simulated) -> float:
    """Interpolate the ratio of level to threshold at this threshold from two simulated ones."""
    if len(looks) == 1:
        return 1.0
    fraction, step = math.modf(-math.log2(nominal) * _STEPS)
    before = _ratio(looks, math.exp2(-step / _STEPS), statistic)
    after = _ratio(looks, math.exp2(-(step + 1) / _STEPS), statistic)
    return (1 - fraction) * before + fraction * after


@lru_cache(maxsize=1024)
def _ratio(looks: tuple[int, ...], nominal: float, statistic: Simulated) -> float:
    """Simulate the ratio of level to threshold at this threshold."""
    if nominal == 1:
        return 1.0  # every look crosses it
    if nominal < _TINY:
        return sum(looks) / looks[-1]
    crossing, error = _chance_of_crossing(nominal, looks, statistic)
    return (crossing + 3 * error) / nominal


def _chance_of_crossing(
    nominal: float, looks: tuple[int, ...], statistic: Simulated
) -> tuple[float, float]:
    """The chance that some look of normal samples crosses its p, with its standard error (ALOE)."""
    thresholds = [nominal * seeds / looks[-1] for seeds in looks]
    bounds = [statistic.critical(p, n) for p, n in zip(thresholds, looks, strict=True)]
    total, variance = 0.0, 0.0
    draws = _draws(len(looks), statistic.rows(looks[-1]))
    for look, p, (drawn, share_of_p) in zip(looks, thresholds, draws, strict=True):
        samples = drawn.copy()
        at_this_look = samples[: statistic.rows(look)]
        statistic.impose(statistic.critical(p * share_of_p, look), at_this_look)
        crossed = np.zeros(_DRAWS)
        for seeds, bound in zip(looks, bounds, strict=True):
            crossed += (seeds == look) | (
                statistic.compute(samples[: statistic.rows(seeds)]) >= bound
            )
        share = 1 / crossed
        total += p * float(share.mean())
        variance += p**2 * float(share.var()) / _DRAWS
    return total, variance**0.5


@lru_cache(maxsize=4)
def _draws(looks: int, rows: int) -> list[tuple[Array, Array]]:
    """Draw, for each look, normal samples [rows, draws] and p as shares of the threshold."""
    rng = np.random.default_rng(_SEED)
    return [
        (np.ascontiguousarray(rng.standard_normal((_DRAWS, rows)).T), rng.random(_DRAWS))
        for _ in range(looks)
    ]


# --- Giving up early causes no false verdict, so the thresholds stay; it only costs power.


def predictive_power(p: Any, boundary: float, known: Any) -> Any:
    """The chance that a comparison which stands at `p` now will cross `boundary` at the last look.

    `known` is the share of the information that has been collected: for a mean over seeds, the
    share of the seeds. The true effect is taken to be as uncertain as its estimate (predictive
    power with a flat prior; Spiegelhalter, Freedman and Blackburn 1986). The spread is taken as
    known.

    >>> [round(float(predictive_power(p, 0.0027, 8 / 12)), 2) for p in (0.01, 0.05, 0.2)]
    [0.54, 0.14, 0.01]
    """
    reached, needed = -ndtri(p), -ndtri(boundary)
    distance = reached - needed * np.sqrt(known)
    remaining = np.sqrt(np.maximum(1 - np.asarray(known), 0.0))
    # Without remaining information, a boundary that is not crossed yet never will be.
    return np.where(remaining > 0, ndtr(distance / np.where(remaining > 0, remaining, 1.0)), 0.0)
