"""The test of whether an effect has become smaller than a ledger says, and the seeds it takes.

Other bits are other runs: on another kind of machine, or after a harmless change, a finding that
only just stood may stay open without anything being wrong. So what is open is not a failure by
itself; only an effect that has become smaller is.

The rule. Each comparison of an open claim is held against the ledger by a t test with a pooled
spread, and the chances are multiplied by the number of the claim's comparisons (Bonferroni). From
`DOUBT` on upwards nothing speaks against the ledger. Below it the claim is in doubt and takes more
seeds, up to each of `FURTHER` in turn. Below `LEVEL`, from `DECISIVE` seeds on, the effect has
become smaller; with fewer seeds a single skewed metric would be called smaller far too often.

The spread is pooled because, where nothing has changed, both samples are of one distribution. That
makes five seeds against twenty a sharp test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy.special import fdtrc, fdtri, nctdtr, stdtr, stdtrit  # type: ignore[import-untyped]

LEVEL = 4e-6
"""The chance at each decisive look that an unchanged claim is called smaller."""

DOUBT = 0.05
"""A claim takes more seeds where effects this small would be rarer than this, were all the same."""

FURTHER = (8, 12, 20, 30)
"""The seeds that a claim in doubt takes, in turn."""

DECISIVE = 12
"""The fewest seeds at which an effect can be called smaller."""

REPORTED = 0.001
"""The chance at which a claim that still holds is reported as smaller than it was."""

_ROUNDING = 1e-5
"""The largest relative difference of two exact distances that counts as none.

A ledger keeps six digits of each.
"""


@dataclass(frozen=True)
class Excess:
    """The distance of a comparison past its bound, over seeds, on the scale it is judged on.

    That of a standard deviation is the logarithm of bound over deviation, and has no spread of its
    own. The numbers may be arrays, of many simulated claims at once.
    """

    mean: Any
    spread: Any
    """The standard deviation over seeds; None where the distance is that of one."""
    seeds: int


class Standing(Enum):
    """The result of a comparison with the ledger."""

    AS_IT_WAS = "no smaller than it was"
    IN_DOUBT = "not clearly smaller than it was"
    SMALLER = "smaller than it was"
    INCOMPARABLE = "not to be compared with the ledger"


def chance_of_less(accepted: Excess, measured: Excess) -> Any:
    """Return the chance of a distance this much smaller, were both drawn from the same runs.

    >>> round(float(chance_of_less(Excess(2.0, 1.0, 20), Excess(1.0, 1.0, 5))), 3)
    0.029
    """
    here, there = measured.seeds - 1, accepted.seeds - 1
    less = accepted.mean - measured.mean
    if accepted.spread is None:
        return fdtrc(here, there, np.exp(2 * less))
    pooled = _pooled(accepted, measured)
    t = less / np.where(pooled > 0, pooled, 1.0)
    is_less = less > _ROUNDING * np.abs(accepted.mean)
    return np.where(pooled > 0, stdtr(here + there, -t), np.where(is_less, 0.0, 1.0))[()]


def chance_unchanged(
    accepted: Sequence[Excess], measured: Sequence[Excess], *, among: int | None = None
) -> Any:
    """Return the chance that any comparison would be this much smaller, were all the same.

    It is at most that for all of the claim's comparisons, which are `among` if more than these.

    >>> there, here = Excess(2.0, 1.0, 20), Excess(0.0, 1.0, 20)
    >>> [standing(chance_unchanged([there], [now]), 20).name for now in (there, here)]
    ['AS_IT_WAS', 'SMALLER']
    """
    chances = [chance_of_less(*pair) for pair in zip(accepted, measured, strict=True)]
    count = len(measured) if among is None else among
    return np.minimum(1.0, count * np.min(chances, axis=0))[()]


def standing(chance: float, seeds: int) -> Standing:
    """Return what a claim's chance at this number of seeds says of it."""
    if chance < LEVEL and seeds >= DECISIVE:
        return Standing.SMALLER
    return Standing.IN_DOUBT if chance < DOUBT else Standing.AS_IT_WAS


def power_for_half(accepted: Excess, seeds: int, *, among: int = 1) -> float:
    """Return the chance that half the distance would be reported as smaller, at so many seeds.

    >>> there = Excess(4.0, 1.0, 20)
    >>> power_for_half(there, 5) < power_for_half(there, 12)
    True
    """
    here, there = seeds - 1, accepted.seeds - 1
    level = REPORTED / among
    half = accepted.mean / 2
    if accepted.spread is None:
        return float(fdtrc(here, there, fdtri(here, there, 1 - level) / np.exp(2 * half)))
    if accepted.spread == 0:
        return 1.0
    error = accepted.spread * (1 / seeds + 1 / accepted.seeds) ** 0.5
    return float(1 - nctdtr(here + there, half / error, -stdtrit(here + there, level)))


def _pooled(accepted: Excess, measured: Excess) -> Any:
    """The standard error of the difference of the two means, were their spreads the same."""
    here, there = measured.seeds - 1, accepted.seeds - 1
    squares = there * accepted.spread**2 + here * measured.spread**2
    return np.sqrt(squares / (here + there) * (1 / accepted.seeds + 1 / measured.seeds))
