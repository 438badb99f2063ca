"""The p threshold of a design with several looks.

It is the same at every look, and the chance of ever crossing it is exactly the level asked for.
Looking at 5, 8 and 12 seeds with p <= 0.005 each time is wrong 1.2 % of the time, not 0.5 %. The
threshold for z statistics (0.0021 here) is not strict enough either, it gives 0.55 %: with few
seeds the t statistic changes more from look to look. So the statistic itself is calibrated.

The calibration is a simulation that stays accurate at any level, however small. The chance that
*some* look crosses is the sum over looks of P(this look crosses) * E[1 / looks that cross, given
that this one does]. The first factor is the threshold itself, so only the second is simulated, and
it lies between 1/looks and 1: ten thousand draws give a relative error below 0.3 % at level 0.005
and at level 0.000005 alike. Three standard errors are charged to the level, so that Monte Carlo
error makes the threshold stricter and not looser. The draws are seeded: everyone gets the same.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from repro.judge.scale import Array
from repro.judge.statistic import STUDENT, Statistic

_DRAWS = 10_000
_SEED = 5_8_12
_STEPS = 2
"""The number of thresholds that are simulated for each halving; those between are interpolated."""

_TINY = 1e-12
"""The p below which the union bound replaces the simulation, which would divide by rounding."""


@lru_cache(maxsize=256)
def threshold(looks: tuple[int, ...], level: float, statistic: Statistic = STUDENT) -> float:
    """Return the one-sided p that is crossed at any of the looks with chance `level`.

    >>> threshold((8,), 0.005)
    0.005
    >>> round(threshold((5, 8, 12), 0.005), 4)
    0.0019
    """
    nominal = level / 2
    for _ in range(5):  # their ratio hardly depends on the threshold, so this settles at once
        nominal = level / _ratio(looks, nominal, statistic)
    return nominal


def level_of(looks: tuple[int, ...], nominal: float, statistic: Statistic = STUDENT) -> float:
    """Return the level whose threshold is this p: the inverse of `threshold`, to 0.1 %.

    >>> round(level_of((5, 8, 12), threshold((5, 8, 12), 0.005)), 4)
    0.005
    """
    if nominal == 0:
        return 0.0
    fraction, step = math.modf(-math.log2(nominal) * _STEPS)
    before, after = (_ratio(looks, math.exp2(-at / _STEPS), statistic) for at in (step, step + 1))
    return nominal * ((1 - fraction) * before + fraction * after)


@lru_cache(maxsize=1024)
def _ratio(looks: tuple[int, ...], nominal: float, statistic: Statistic) -> float:
    """Simulate the ratio of level to threshold at this threshold."""
    if len(looks) == 1 or nominal == 1:
        return 1.0  # nothing to add up, or every look crosses it
    if nominal < _TINY:
        return float(len(looks))
    crossing, error = chance_of_crossing(nominal, looks, statistic)
    return (crossing + 3 * error) / nominal


def chance_of_crossing(
    nominal: float, looks: tuple[int, ...], statistic: Statistic = STUDENT
) -> tuple[float, float]:
    """The chance that some look of normal samples has p <= nominal, and its standard error."""
    bounds = [statistic.critical(nominal, seeds) for seeds in looks]
    total, variance = 0.0, 0.0
    for look, (drawn, share_of_p) in zip(looks, _draws(looks), strict=True):
        samples = drawn.copy()
        statistic.impose(statistic.critical(nominal * share_of_p, look), samples[:look])
        crossed = np.zeros(_DRAWS)
        for seeds, bound in zip(looks, bounds, strict=True):
            crossed += (seeds == look) | (statistic.compute(samples[:seeds]) >= bound)
        share = 1 / crossed
        total += nominal * float(share.mean())
        variance += nominal**2 * float(share.var()) / _DRAWS
    return total, variance**0.5


@lru_cache(maxsize=4)
def _draws(looks: tuple[int, ...]) -> list[tuple[Array, Array]]:
    """Draw, for each look, normal samples [seeds, draws] and p as shares of the threshold."""
    rng = np.random.default_rng(_SEED)
    return [
        (np.ascontiguousarray(rng.standard_normal((_DRAWS, looks[-1])).T), rng.random(_DRAWS))
        for _ in looks
    ]
