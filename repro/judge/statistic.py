"""The statistics that looks compare with a threshold; large values are evidence.

A threshold for several looks is found by simulation of the statistic itself. The simulation needs
its value, its quantiles, and `impose`, which changes normal samples in place so that the statistic
has given values, one for each sample. The result is distributed like samples with these values,
because the statistic is independent of what `impose` keeps: the length of normal samples, and the
direction of their residuals. Samples are columns, [seeds, samples]: seeds are few, and sums over
rows are faster.

The distributions come from `scipy.special`, since `scipy.stats` is slow to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import bdtr, stdtrit  # type: ignore[import-untyped]

from repro.judge.scale import Array


def critical(p: Any, freedom: Any) -> Any:
    """The t statistic that is exceeded with chance `p` when the true mean is 0."""
    return -stdtrit(freedom, p)


@dataclass(frozen=True)
class Student:
    """The t statistic of differences whose mean should be positive."""

    def rows(self, seeds: int) -> int:
        """The number of rows of a sample at a look."""
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
class Prediction:
    """The t statistic of a number that should be the mean of `runs` further runs.

    The number is the same at every look, so it is the first row of the samples. The one-sided test
    shows that the number is larger; the `two_sided` one, that it differs, with half of p each side.
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
        """Replace the ratio of distance and residuals, and keep their joint length.

        The mean of all runs stays too. (In a two-sided test the value would have either sign with
        the same chance; the result is the same.)
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
    """The number of runs in which a comparison holds; it should be more than half of them.

    A count has few possible values. So the chance that any look crosses is summed exactly, look by
    look, and the threshold is the largest that keeps the level.
    """

    def p(self, count: Any, runs: Any) -> Any:
        """The chance of this count or a larger one, if the comparison holds in half of all runs."""
        return bdtr(runs - np.asarray(count), runs, 0.5)

    def chance_of_crossing(self, looks: tuple[int, ...], nominal: float) -> float:
        """Return the chance that any look crosses its p, if the last look's p is `nominal`."""
        counts = np.ones(1)  # the chance of each count together with no crossing so far
        crossed, before = 0.0, 0
        for seeds in looks:
            above = self.p(np.arange(seeds - before + 1), seeds - before)
            counts = np.convolve(counts, -np.diff(above, append=0.0))
            crosses = self.p(np.arange(seeds + 1), seeds) <= nominal * seeds / looks[-1] * _ROUNDED
            crossed += float(counts[crosses].sum())
            counts, before = np.where(crosses, 0.0, counts), seeds
        return crossed

    def threshold(self, looks: tuple[int, ...], level: float) -> float:
        """Return the largest p of the last look for which any look crosses with at most `level`."""
        attained = {
            float(p) * looks[-1] / seeds for seeds in looks for p in self.p(range(seeds + 1), seeds)
        }
        enough = (p for p in attained if self.chance_of_crossing(looks, p) <= level)
        return max(enough, default=0.0)


@dataclass(frozen=True)
class Counted:
    """Counts of runs that succeed, in tests that are exact at one look.

    Several looks share the level by the union bound.
    """

    def threshold(self, looks: tuple[int, ...], level: float) -> float:
        return level * looks[-1] / sum(looks)

    def chance_of_crossing(self, looks: tuple[int, ...], nominal: float) -> float:
        return min(1.0, nominal * sum(looks) / looks[-1])


_ROUNDED = 1 + 1e-9
"""A p that equals its threshold up to rounding crosses it."""

Simulated: TypeAlias = Student | Prediction
Statistic: TypeAlias = Simulated | Sign | Counted
STUDENT, SIGN, COUNTED = Student(), Sign(), Counted()
