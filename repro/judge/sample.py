"""Whether runs are a sample: runs that repeat others, and runs that end in one of two states.

A test over seeds takes runs for independent draws. A run that repeats another in every value is no
draw: its training does not use the seed, or somebody copied it. Values of full precision and curves
do not repeat by chance, so such a run is left out. Short values, such as shares of a few hundred
examples, do repeat by chance. They are named where chance repeats them more rarely than `NAMED`.

This chance comes from the values themselves. In a gap of ten steps between neighbours lie nine
values that no run has. So where gaps are wide, few of the values that a run can have are taken. The
distribution only has to be smooth: where many runs end exactly at a floor, a ceiling or another
such value, they look like copies, and the sentence asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import bdtrc  # type: ignore[import-untyped]

from repro.judge.scale import Array

NAMED = 0.001
"""Short values that repeat are named if chance repeats them more rarely than this."""

REPEAT = "repeat another in every value"
"""The words of each sentence that names runs which repeat others."""

BIMODAL, FEWEST, MOST = 0.005, 5, 50
"""The share of normal samples that look bimodal; fewer runs cannot show it, and more need not."""

MOST_EXAMPLES = 100_000
"""Shares of more examples are taken for other numbers."""

LEAST_PER_CENT = 20
"""Numbers from here to 100 may be shares in per cent."""

_SAMPLES, _SEED = 20_000, 58


@dataclass(frozen=True, kw_only=True)
class Runs:
    """The runs of an arm by seed, each with all its values that a seed can change.

    A run is plain data: numbers, and lists and mappings of them.
    """

    label: str
    by_seed: Mapping[Any, Any]
    named: Callable[[Any], str] = "seed {}".format
    """Says which run a key of `by_seed` stands for."""
    is_deterministic: bool = False
    """True where the arm declares that no seed changes its runs."""

    def __len__(self) -> int:
        return len(self.by_seed)

    @property
    def are_fixed(self) -> bool:
        """True where all runs are the same, as their arm declares."""
        return self.is_deterministic and self._are_the_same

    @property
    def are_alike(self) -> bool:
        """True where all runs are the same, but for such as have nothing but zeros and ones.

        Ten runs of ten that solve a task are a sample.
        """
        return self._are_the_same and not self.is_deterministic and not self._is_at_an_end(0)

    @property
    def are_one(self) -> bool:
        """True where all runs but one are left out."""
        return 0 < len(self.left_out) == len(self) - 1

    @cached_property
    def repeats(self) -> dict[int, int]:
        """The place of each run that repeats an earlier one in every value, and of that one.

        >>> Runs(label="a", by_seed={7: 0.51, 8: 0.52, 9: 0.51}).repeats
        {2: 0}
        """
        if self.are_fixed:
            return {}
        return {
            place: first
            for place, first in enumerate(self._first_alike)
            if place != first and any(_series(self._runs[place]))
        }

    @cached_property
    def left_out(self) -> frozenset[int]:
        """The places of runs that repeat another, and not by chance.

        Such a run has a value of full precision, or a curve of three different values. If the
        values of curves are coarse, curves repeat by chance, but then others nearly do.

        >>> coarse, fine = {1: 0.5, 2: 0.5, 3: 0.6}, {1: 0.512345678, 2: 0.512345678, 3: 0.6}
        >>> [Runs(label="a", by_seed=values).left_out for values in (coarse, fine)]
        [frozenset(), frozenset({1})]
        """
        return frozenset(
            place
            for place in self.repeats
            if any(map(_is_long, self._numbers[place]))
            or (any(len(set(x)) > 2 for x in _series(self._runs[place])) and self._are_apart)
        )

    def chance(self, like: Array | None = None) -> float:
        """Return the chance of so many repeats of short values.

        Runs that are all the same say nothing about it. They are taken to spread `like` the values
        of another arm, if these are given. Floors and ceilings of shares count as no repeats.

        >>> copied = Runs(label="a", by_seed=dict(enumerate([0.512, 0.534, 0.587] * 4)))
        >>> copied.chance() < NAMED
        True
        """
        again = sum(not self._is_at_an_end(place) for place in self.repeats)
        if not again:
            return 1.0
        if self._are_the_same:
            return 1.0 if like is None else float(_chances(like).max()) ** again
        columns = zip(*filter(None, self._numbers), strict=False)
        rate = min(float(_chances(np.array(column)).sum()) for column in columns)
        return float(bdtrc(again - 1, len(self) - 1, min(1.0, rate)))

    def said(self, like: Array | None = None) -> str:
        """Name the repeats that are left out, or rare by chance; empty without such."""
        named = sorted(self.left_out or self.repeats)
        if not named:
            return ""
        seeds = list(self.by_seed)
        again, first = (self.named(seeds[place]) for place in (named[0], self.repeats[named[0]]))
        one = f"{again} is {first} again"
        said = f"{len(named)} of {len(self)} runs of {self.label} {REPEAT}"
        if self.left_out:
            return f"{said} and are left out ({one}): were they copied, or is the seed not used?"
        if (chance := self.chance(like)) >= NAMED:
            return ""
        if_alike = " if they spread like the other arm" if self._are_the_same else ""
        return (
            f"{said} ({one}), by chance in {chance:.1g} of cases{if_alike}: were they copied, is"
            " the seed not used, or is it a floor or a ceiling?"
        )

    @property
    def repeat_several(self) -> bool:
        """True where several runs are repeated, or all are one: a floor or ceiling is one of many.

        >>> values = [0.5, 0.5, 0.6], [0.5, 0.5, 0.5]
        >>> [Runs(label="a", by_seed=dict(enumerate(each))).repeat_several for each in values]
        [False, True]
        """
        return self._are_the_same or len(set(self.repeats.values())) > 1

    def _is_at_an_end(self, place: int) -> bool:
        """Return whether all values of a run are the floor or the ceiling of a share."""
        return set(self._numbers[place]) <= {0.0, 1.0}

    @cached_property
    def _runs(self) -> list[Any]:
        return list(self.by_seed.values())

    @cached_property
    def _numbers(self) -> list[list[float]]:
        return [[number for each in _series(run) for number in each] for run in self._runs]

    @cached_property
    def _first_alike(self) -> list[int]:
        """For each run, the place of the first one that has all its values."""
        firsts: dict[float | None, list[int]] = {}  # by their first number
        found: list[int] = []
        for place, run in enumerate(self._runs):
            known = firsts.setdefault(_first_number(run), [])
            same = (first for first in known if self._runs[first] == run)
            found.append(next(same, place))
            if found[-1] == place:
                known.append(place)
        return found

    @cached_property
    def _are_apart(self) -> bool:
        """True where no two distinct runs agree in more than half of the values that vary."""
        distinct = [numbers for i, numbers in enumerate(self._numbers) if i not in self.repeats]
        columns = [x for x in zip(*distinct, strict=False) if len(set(x)) > 1]
        runs = np.array(columns).T
        return len(distinct) == 1 or (
            len(columns) > 2 and all(np.mean(a == b) <= 0.5 for a, b in combinations(runs, 2))
        )

    @cached_property
    def _are_the_same(self) -> bool:
        is_one = len(self) > 1 and not any(self._first_alike)
        return is_one and any(_series(self._runs[0]))


def lower_state(values: Array, *, least: float = 0.0) -> int:
    """Return how many values lie in the lower of two groups; 0 where there are no such groups.

    The groups explain more of the variance than of all but `BIMODAL` of normal samples of this
    size. Values within groups differ by `least` at least, such as half an example.

    >>> lower_state(np.array([0.11, 0.93, 0.95, 0.10, 0.94, 0.92, 0.12, 0.93]))
    3
    """
    if not FEWEST <= len(values) <= MOST or len(set(values.tolist())) < 3:
        return 0
    explained = _explained(np.sort(values)[:, None], least)[:, 0]
    return int(explained.argmax()) + 1 if explained.max() > _usual(len(values)) else 0


def _explained(ordered: Array, least: float = 0.0) -> Array:
    """Return the share of variance between the first values and the others, [split, samples]."""
    seeds, centred = len(ordered), ordered - ordered.mean(axis=0)
    first = np.arange(1, seeds)[:, None]
    between = np.cumsum(centred, axis=0)[:-1] ** 2 * seeds / (first * (seeds - first))
    result: Array = between / ((centred**2).sum(axis=0) + seeds * least**2)
    return result


@lru_cache(maxsize=64)
def _usual(seeds: int) -> float:
    """Return what the best split explains of all but `BIMODAL` of normal samples."""
    drawn = np.random.default_rng(_SEED).standard_normal((seeds, _SAMPLES))
    return float(np.quantile(_explained(np.sort(drawn, axis=0)).max(axis=0), 1 - BIMODAL))


def _series(run: Any) -> Iterator[list[float]]:
    """Yield the numbers of a run: each alone, and those of a list together."""
    if isinstance(run, int | float):
        yield [float(run)]
    elif isinstance(run, list):
        yield [float(each) for each in run if isinstance(each, int | float)]
        for each in run:
            yield from () if isinstance(each, int | float) else _series(each)
    elif isinstance(run, Mapping):
        for each in run.values():
            yield from _series(each)


def _first_number(run: Any) -> float | None:
    """Return a number that runs have to share if they are the same; None where there is none."""
    if isinstance(run, int | float):
        return run
    parts = run.values() if isinstance(run, dict) else run if isinstance(run, list) else ()
    return next((x for x in map(_first_number, parts) if x is not None), None)


def _chances(values: Array) -> Array:
    """Return, for each distinct value, the chance that a further run has it; at most that.

    Between two values, runs lie as densely as the closer of them says.

    >>> _chances(np.array([0.1, 0.2, 0.7])).round(2).tolist()
    [0.33, 0.33, 0.08]
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) == 1:
        return np.ones(1)
    steps = np.maximum(1.0, np.diff(distinct) * _steps(distinct))
    closest = np.minimum(np.append(steps, np.inf), np.insert(steps, 0, np.inf))
    result: Array = counts / len(values) / closest
    return result


def _steps(values: Array) -> float:
    """Return in how many steps values move from 0 to 1; 0 where that is not clear.

    It is clear of numbers with few digits, and of shares of the same examples. It is not clear of
    the mean of several shares, such as those of batches.
    """
    shares = [_share(value) for value in values.tolist()]
    steps = math.lcm(*(share.denominator for share in shares if share is not None))
    if not all(shares) or not (steps <= MOST_EXAMPLES or 10**7 % steps == 0):
        return 0.0
    return float(steps) if 10**7 % steps else _fewest_steps(values, steps)


def _fewest_steps(values: Array, rounded_to: int) -> float:
    """Return the fewest steps from 0 to 1 that give these values, rounded to so many steps.

    Shares of 797 examples are often written with six digits, or in per cent with two.

    >>> _fewest_steps(np.array([0.966123, 0.944793, 0.971142]), 10**6)
    797.0
    """
    whole = 100.0 if values.max() > LEAST_PER_CENT else 1.0
    if values.min() < 0 or values.max() > whole:
        return float(rounded_to)
    steps = np.arange(1, min(MOST_EXAMPLES, rounded_to * whole) + 1)
    exactly = values[:, None] / whole * steps
    is_off = np.abs(exactly - np.rint(exactly)) > steps * (0.5 / rounded_to / whole) * (1 + 1e-6)
    fits = steps[~is_off.any(axis=0)]
    return float(fits[0] / whole) if len(fits) else float(rounded_to)


def _is_long(value: float) -> bool:
    """Return whether a number has full precision, so that no other run has it by chance.

    >>> [_is_long(value) for value in (0.9312, 217 / 300, 12.0, 0.6172344719)]
    [False, False, False, True]
    """
    return math.isfinite(value) and _share(value) is None


def _share(value: float) -> Fraction | None:
    """Return the fraction that a number is, if it is a share or has few digits; None if not.

    The mean of shares of several batches is one, too, and so is a share in 32 or 16 bits.
    """
    exactly = Fraction(value)
    if value == float(f"{value:.7g}"):
        return Fraction(f"{value:.7g}")
    if math.frexp(value)[0] * 2**11 % 1 == 0:
        return exactly
    of_few, of_many = (exactly.limit_denominator(most) for most in (10_000, 1_000_000))
    if abs(of_few - exactly) <= 1e-12 * abs(value):
        return of_few
    for share in (Fraction(f"{value:.4g}"), exactly.limit_denominator(1000)):
        if abs(value) < 1 << 24 and value == float(np.float32(share)):
            return share
    return of_many if abs(of_many - exactly) <= 2e-15 * abs(value) else None
