"""The statistics that looks compare with a threshold, where large values are evidence.

A threshold for several looks is found by simulating the very statistic that is judged. That needs
its value, its quantiles, and a way to turn normal samples into samples of a given value.
Samples are columns, [seeds, samples]: seeds are few, and a sum over rows is the faster one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import gammainccinv, gammaincinv  # type: ignore[import-untyped]

from repro.judge.scale import Array
from repro.judge.student import critical


@dataclass(frozen=True)
class Student:
    """The t statistic of differences whose mean should be positive."""

    def compute(self, samples: Array) -> Array:
        seeds = len(samples)
        result: Array = samples.mean(axis=0) / samples.std(axis=0, ddof=1) * np.sqrt(seeds)
        return result

    def critical(self, p: Any, seeds: int) -> Any:
        """The value that normal samples exceed with chance `p`."""
        return critical(p, seeds)

    def impose(self, value: Array, samples: Array) -> None:
        """Change normal samples in place into ones drawn given this value, one for each sample.

        The t statistic is the angle between the differences and the constant vector. It is
        independent of their length and of the direction of their residuals: it can be replaced.
        """
        seeds = len(samples)
        length = np.linalg.norm(samples, axis=0)
        hypotenuse = np.sqrt(seeds - 1 + value**2)
        along, across = value / hypotenuse, np.sqrt(seeds - 1) / hypotenuse
        samples[:] = length * (along / np.sqrt(seeds) + across * _direction(samples))


@dataclass(frozen=True)
class Spread:
    """The chi-square statistic of values whose standard deviation should be small, or `large`.

    Values are in units of the bound. Small spreads are turned around, so that large values of the
    statistic are evidence here too.
    """

    large: bool

    def compute(self, samples: Array) -> Array:
        squares: Array = samples.var(axis=0) * len(samples)
        return squares if self.large else -squares

    def critical(self, p: Any, seeds: int) -> Any:
        half = (seeds - 1) / 2
        return 2 * gammainccinv(half, p) if self.large else -2 * gammaincinv(half, p)

    def impose(self, value: Array, samples: Array) -> None:
        """Change normal samples in place into ones drawn given this value, one for each sample.

        The sum of squares is independent of the mean and of the direction of the residuals.
        """
        length = np.sqrt(np.abs(value))
        samples[:] = samples.mean(axis=0) + length * _direction(samples)


def _direction(samples: Array) -> Array:
    residual: Array = samples - samples.mean(axis=0)
    residual /= np.linalg.norm(residual, axis=0)
    return residual


Statistic: TypeAlias = Student | Spread
STUDENT, SMALL_SPREAD, LARGE_SPREAD = Student(), Spread(large=False), Spread(large=True)
