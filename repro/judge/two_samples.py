"""The test of arms whose runs are not paired: independent samples, by Welch's t.

Two samples have Welch's p, and count at the p that keeps the level (`welch`).

More than two samples, as in a gain over a gain, have the degrees of freedom of the smallest one,
with which the test never errs too often (Hájek 1962). So have two of unequal numbers, of which one
is below five: there Welch's p would have to be so small that it could hardly be reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from repro.judge.evidence import ROUNDING, Evidence
from repro.judge.scale import Array
from repro.judge.statistic import STUDENT, Statistic
from repro.judge.student import tail
from repro.judge.welch import Welch

_FEW = 5


def weigh_apart(
    samples: Sequence[Array], *, least_spreads: Sequence[Any], exact: bool = False
) -> Evidence:
    """Test the sum of the means of independent samples against 0, in both directions.

    `least_spreads` has for each sample the spread that it has at least. Where none has a spread
    there is no evidence, unless all are `exact` and read off.

    >>> evidence = weigh_apart([np.array([3.0, 4.0, 5.0]), -np.array([1.0, 2.0, 3.0])],
    ...                        least_spreads=[0.0, 0.0])
    >>> round(float(evidence.p_for), 4), round(float(evidence.freedom), 2)
    (0.0352, 4.0)
    """
    counts = tuple(len(each) for each in samples)
    mean = sum(each.mean(axis=0) for each in samples)
    size = np.max([np.abs(each).max(axis=0) for each in samples], axis=0)
    spreads = [
        np.maximum(_spread(each), 0.0 if exact else least)
        for each, least in zip(samples, least_spreads, strict=True)
    ]
    parts = [spread**2 / count for spread, count in zip(spreads, counts, strict=True)]
    error = np.sqrt(sum(parts))
    none = error == 0
    is_welch = len(samples) == 2 and (min(counts) >= _FEW or counts[0] == counts[1])
    freedom = _freedom(parts, counts) if is_welch else float(min(counts) - 1)
    t = mean / np.where(none, 1.0, error)
    read_off = np.where(mean > ROUNDING * size, 0.0, 1.0) if exact else 1.0
    read_off_against = 1.0 - read_off if exact else 1.0
    statistic: Statistic = Welch(*counts) if is_welch else STUDENT
    spread = np.sqrt(sum(each**2 for each in spreads))
    return Evidence(
        mean=mean,
        spread=spread[()],
        seeds=_alike_seeds(spread, error, counts),
        p_for=np.where(none, read_off, tail(t, freedom))[()],
        p_against=np.where(none, read_off_against, tail(-t, freedom))[()],
        statistic_for=statistic,
        statistic_against=statistic,
        alike=(none & (not exact))[()],
        freedom=freedom,
        counts=counts,
        error=error[()],
    )


def _spread(sample: Array) -> Any:
    """The standard deviation of a sample; 0 where it is only rounding."""
    measured = sample.std(axis=0, ddof=1)
    return np.where(measured <= ROUNDING * np.abs(sample).max(axis=0), 0.0, measured)


def _freedom(parts: Sequence[Any], counts: Sequence[int]) -> Any:
    """Welch's degrees of freedom of the sum of these variances of means."""
    total = sum(parts)
    squares = sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    return np.where(total > 0, total**2 / np.where(total > 0, squares, 1.0), 1.0)[()]


def _alike_seeds(spread: Any, error: Any, counts: Sequence[int]) -> int:
    """The seeds of each arm with which the mean would be as uncertain, were there as many of all.

    Of many simulated samples at once, where these differ, it is the smallest number.
    """
    if len(set(counts)) == 1 or np.any(error == 0) or np.ndim(error):
        return min(counts)
    return max(2, round(float(spread / error) ** 2))
