"""The plan of a judgement, fixed before the data: when to look, and which error is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from repro.judge.boundary import at_look, level_of, threshold
from repro.judge.futility import is_hopeless
from repro.judge.scale import Array
from repro.judge.simulated import simulated
from repro.judge.statistic import STUDENT, Statistic
from repro.judge.student import MOST_SEEDS, effect_found, tail

_DRAWS = 20_000
_SEED = 80


@dataclass(frozen=True)
class Design:
    """The numbers of seeds at which to look, and the error allowed over all looks.

    Seeds are added up to each of the `looks` in turn, until the verdict stands. `level` is the
    chance of a false verdict at the very edge of a statement; half of it on each side, so a false
    `reproduced` has at most chance `level / 2`, and so has a false `refuted`.

    >>> print(Design(looks=(5, 8, 12)))
    looks at 5, 8, 12 seeds; false reproduced and false refuted at most 0.5% each;
    80% power for an effect of 1.26 sd over seeds (one comparison)
    """

    looks: tuple[int, ...]
    level: float = 0.01

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

    def boundary(self, seeds: int, *, share: float = 1, statistic: Statistic = STUDENT) -> float:
        """The p at which one comparison counts on its own, at the look at `seeds`.

        All comparisons must hold for `reproduced`, so each may use the whole level. Any one is
        enough for `refuted`, so there each has its `share` of it.
        """
        nominal = threshold(self.looks, self.one_sided_level * share, statistic)
        return at_look(seeds, self.looks, nominal)

    def level_at(self, p: float, seeds: int, *, statistic: Statistic = STUDENT) -> float:
        """Return the level at which these looks would have crossed this p at the look at `seeds`.

        >>> round(Design(looks=(5, 8, 12)).level_at(0.0018, 8), 4)
        0.005
        """
        nominal = min(1.0, p * self.looks[-1] / seeds)
        return level_of(self.looks, nominal, statistic)

    def power(self, effect_in_sd: float, *, terms: int = 1) -> float:
        """The chance of `reproduced` within the budget, by simulation (to about 0.01).

        `effect_in_sd` is how far the true effect lies past its bound, in standard deviations of
        the paired differences over seeds; with several terms each has this effect, independently.

        >>> Design(looks=(10,), level=0.05).power(1.0) > 0.8
        True
        """
        last = self.looks[-1]
        means, spreads = simulated_looks(self.looks)
        undecided = np.ones(len(means), dtype=bool)
        reproduced = np.zeros(len(means), dtype=bool)
        # Other terms are other, independent rows of the same simulation.
        shifts = [term * len(means) // terms for term in range(terms)]
        for look, seeds in enumerate(self.looks):
            t = (means[:, look] + effect_in_sd) / spreads[:, look] * np.sqrt(seeds)
            p = tail(t, seeds - 1)
            p_for = [np.roll(p, shift) for shift in shifts]
            p_against = [1 - each for each in p_for]
            holds = np.max(p_for, axis=0) <= self.boundary(seeds)
            fails = np.min(p_against, axis=0) <= self.boundary(seeds, share=1 / terms)
            reproduced |= undecided & holds
            undecided &= ~(holds | fails)
            to_hold = [(p, self.boundary(last), seeds / last) for p in p_for]
            to_fail = [(p, self.boundary(last, share=1 / terms), seeds / last) for p in p_against]
            undecided &= ~is_hopeless(to_hold, to_fail)
        return float(reproduced.mean())

    def detectable(self, *, power: float = 0.8, terms: int = 1) -> float:
        """The smallest effect, in standard deviations over seeds, that is found with this power.

        >>> Design(looks=(3,)).detectable() > Design(looks=(12,)).detectable()
        True
        """
        if not 0 < power < 1:
            raise ValueError(f"power={power!r} must lie between 0 and 1, for example 0.8")
        return _detectable(self, power, terms)

    def __str__(self) -> str:
        looks = ", ".join(map(str, self.looks))
        return (
            f"looks at {looks} seeds; "
            f"false reproduced and false refuted at most {100 * self.one_sided_level:.2g}% each;\n"
            f"80% power for an effect of {self.detectable():.2f} sd over seeds (one comparison)"
        )


@dataclass(frozen=True)
class OneLook(Design):
    """The plan for results that are all there: one look, at the whole level, at all of them.

    Comparisons may have other numbers of seeds than each other; `looks` has the largest.

    >>> OneLook(looks=(20,)).boundary(12)
    0.005
    """

    def boundary(self, seeds: int, *, share: float = 1, statistic: Statistic = STUDENT) -> float:
        """The p at which one comparison of so many seeds counts on its own."""
        return threshold((seeds,), self.one_sided_level * share, statistic)

    def level_at(self, p: float, seeds: int, *, statistic: Statistic = STUDENT) -> float:
        return level_of((seeds,), min(1.0, p), statistic)

    def detectable(self, *, power: float = 0.8, terms: int = 1) -> float:
        """The smallest effect, in standard deviations over seeds, that is found with this power."""
        seeds = self.looks[-1]
        t = float(STUDENT.critical(self.boundary(seeds), seeds))
        found = effect_found(t, seeds - 1, power=float(power ** (1 / terms)))
        return found / float(seeds**0.5)


@simulated
def _detectable(design: Design, power: float, terms: int) -> float:
    low, high = 0.0, 1.0
    while design.power(high, terms=terms) < power:
        low, high = high, 2 * high
    while high - low > 0.002 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if design.power(middle, terms=terms) >= power else (middle, high)
    return high


@lru_cache(maxsize=16)
def simulated_looks(looks: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and standard deviation of standard normal differences, for each draw at each look."""
    if len(looks) == 1 and looks[0] > MOST_SEEDS:  # their mean and spread, without the seeds
        rng, freedom = np.random.default_rng(_SEED), looks[0] - 1
        mean = rng.standard_normal((_DRAWS, 1)) / looks[0] ** 0.5
        return mean, np.sqrt(rng.chisquare(freedom, (_DRAWS, 1)) / freedom)
    draws = np.random.default_rng(_SEED).standard_normal((_DRAWS, looks[-1]))
    means = np.stack([draws[:, :seeds].mean(axis=1) for seeds in looks], axis=1)
    spreads = np.stack([draws[:, :seeds].std(axis=1, ddof=1) for seeds in looks], axis=1)
    return means, spreads
