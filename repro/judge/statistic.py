"""The statistics that looks compare with a threshold, where large values are evidence.

A threshold for several looks is found by simulating the very statistic that is judged. That needs
its value, its quantiles, and `impose`: what changes normal samples in place into ones drawn given
its value, one for each sample. Each of these is a function of parts of normal samples that are
independent of their length and of the direction of their residuals, so that it can be replaced.
Samples are columns, [seeds, samples]: seeds are few, and a sum over rows is the faster one.

The distributions are those of `scipy.special`: `scipy.stats` is slow to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import (  # type: ignore[import-untyped]
    bdtr,
    chdtr,
    chdtrc,
    fdtr,
    fdtrc,
    fdtri,
    gammainccinv,
    gammaincinv,
    stdtrit,
)

from repro.judge.scale import Array


def critical(p: Any, freedom: Any) -> Any:
    """The t statistic that is exceeded with chance `p` when the true mean is 0."""
    return -stdtrit(freedom, p)


@dataclass(frozen=True)
class Student:
    """The t statistic of differences whose mean should be positive."""

    def rows(self, seeds: int) -> int:
        """The number of samples that it is computed from, at a look."""
        return seeds

    def compute(self, samples: Array) -> Array:
        seeds = len(samples)
        result: Array = samples.mean(axis=0) / samples.std(axis=0, ddof=1) * np.sqrt(seeds)
        return result

    def critical(self, p: Any, seeds: int) -> Any:
        """The value that normal samples exceed with chance `p`."""
        return critical(p, seeds - 1)

    def impose(self, value: Array, samples: Array) -> None:
        """Replace the angle between the differences and the constant vector, which is t."""
        seeds = len(samples)
        length = np.linalg.norm(samples, axis=0)
        hypotenuse = np.sqrt(seeds - 1 + value**2)
        along, across = value / hypotenuse, np.sqrt(seeds - 1) / hypotenuse
        samples[:] = length * (along / np.sqrt(seeds) + across * _direction(samples))


@dataclass(frozen=True)
class Spread:
    """The chi-square statistic of values whose standard deviation should be small, or `large`.

    Values are in units of the bound. Small spreads are turned around, so that large values of the
    statistic are evidence here too. Where the bound is itself the standard deviation of a few
    `runs`, it is the F statistic: the first rows of the samples are those runs, at every look.
    """

    large: bool
    runs: int = 0

    def rows(self, seeds: int) -> int:
        return self.runs + seeds

    def compute(self, samples: Array) -> Array:
        values = samples[self.runs :]
        squares: Array = values.var(axis=0) * len(values)
        if self.runs:
            squares = squares / samples[: self.runs].var(axis=0, ddof=1)
        return squares if self.large else -squares

    def critical(self, p: Any, seeds: int) -> Any:
        freedom = seeds - 1
        if self.runs:
            squares = freedom * fdtri(freedom, self.runs - 1, 1 - p if self.large else p)
        else:
            squares = 2 * (gammainccinv if self.large else gammaincinv)(freedom / 2, p)
        return squares if self.large else -squares

    def tail(self, squares: Any, seeds: int) -> Any:
        """Return the chance of so small, or so large, a sum of squares in units of the bound."""
        if self.runs:
            chance = fdtrc if self.large else fdtr
            return chance(seeds - 1, self.runs - 1, squares / (seeds - 1))
        return (chdtrc if self.large else chdtr)(seeds - 1, squares)

    def impose(self, value: Array, samples: Array) -> None:
        """Replace the sum of squares, or its ratio to that of the runs, which keep their sum."""
        here, squares = samples[self.runs :], np.abs(value)
        if self.runs:
            there, ratio = samples[: self.runs], squares / (self.runs - 1)
            overall = here.var(axis=0) * len(here) + there.var(axis=0) * len(there)
            there[:] = there.mean(axis=0) + np.sqrt(overall / (1 + ratio)) * _direction(there)
            squares = overall * ratio / (1 + ratio)
        here[:] = here.mean(axis=0) + np.sqrt(squares) * _direction(here)


@dataclass(frozen=True)
class Prediction:
    """The t statistic of a number that should be the mean of `runs` further runs.

    That number is the same at every look, so it is the first row of the samples. One-sided it says
    that the number is larger; `two_sided` that it is different, with half of p on each side.
    """

    runs: int
    two_sided: bool = False

    def rows(self, seeds: int) -> int:
        return seeds + 1

    def errors(self, seeds: int) -> float:
        """The standard error of the distance of the number from the mean, in spreads of one run."""
        return float((1 / self.runs + 1 / seeds) ** 0.5)

    def compute(self, samples: Array) -> Array:
        distance, spread, seeds = self._parts(samples)
        result: Array = distance / spread / self.errors(seeds)
        return np.abs(result) if self.two_sided else result

    def critical(self, p: Any, seeds: Any) -> Any:
        return critical(np.asarray(p) / 2 if self.two_sided else p, seeds - 1)

    def impose(self, value: Array, samples: Array) -> None:
        """Replace the ratio of distance and residuals, which keep their joint length.

        The mean of all runs stays too. (Two-sided, the value may have either sign with the same
        chance, and what comes of it is the same.)
        """
        distance, spread, seeds = self._parts(samples)
        errors, freedom, runs = self.errors(seeds), seeds - 1, self.runs
        overall = (runs**0.5 * samples[0] + seeds * samples[1:].mean(axis=0)) / (runs + seeds)
        length = np.sqrt((distance / errors) ** 2 + freedom * spread**2)
        new_spread = length / np.sqrt(freedom + value**2)
        new_distance = value * new_spread * errors
        residuals = freedom**0.5 * new_spread * _direction(samples[1:])
        samples[1:] = overall - new_distance * runs / (runs + seeds) + residuals
        samples[0] = (overall + new_distance * seeds / (runs + seeds)) * runs**0.5

    def _parts(self, samples: Array) -> tuple[Array, Array, int]:
        """The distance of the first row from the mean of the others, their spread and number."""
        others = samples[1:]
        distance: Array = samples[0] / self.runs**0.5 - others.mean(axis=0)
        return distance, others.std(axis=0, ddof=1), len(others)


def _direction(samples: Array) -> Array:
    residual: Array = samples - samples.mean(axis=0)
    residual /= np.linalg.norm(residual, axis=0)
    return residual


@dataclass(frozen=True)
class Sign:
    """The number of runs in which a comparison holds, which should be more than half of them.

    Counts take few values, so the chance of crossing at any look is added up exactly, from one look
    to the next, and the threshold is the largest that keeps the level.
    """

    def p(self, count: Any, runs: Any) -> Any:
        """The chance of this count or a larger one, where it holds in half of all runs."""
        return bdtr(runs - np.asarray(count), runs, 0.5)

    def chance_of_crossing(self, looks: tuple[int, ...], nominal: float) -> float:
        """Return the chance that any look crosses its p, where that of the last is `nominal`."""
        counts = np.ones(1)  # the chance of each count, of the samples that crossed no look so far
        crossed, before = 0.0, 0
        for seeds in looks:
            above = self.p(np.arange(seeds - before + 1), seeds - before)
            counts = np.convolve(counts, -np.diff(above, append=0.0))
            crosses = self.p(np.arange(seeds + 1), seeds) <= nominal * seeds / looks[-1] * _ROUNDED
            crossed += float(counts[crosses].sum())
            counts, before = np.where(crosses, 0.0, counts), seeds
        return crossed

    def threshold(self, looks: tuple[int, ...], level: float) -> float:
        """Return the largest p of the last look with at most this chance that any look crosses."""
        attained = {
            float(p) * looks[-1] / seeds for seeds in looks for p in self.p(range(seeds + 1), seeds)
        }
        enough = (p for p in attained if self.chance_of_crossing(looks, p) <= level)
        return max(enough, default=0.0)


_ROUNDED = 1 + 1e-9
"""A p that is its threshold, but for rounding, crosses it."""

Simulated: TypeAlias = Student | Spread | Prediction
Statistic: TypeAlias = Simulated | Sign
STUDENT, SIGN = Student(), Sign()
