"""Patterns of a few seeds that a t test does not expect: skewness, a lone seed, two groups.

Each is remarked on where at most 1 % of normal samples of the same size show it as clearly, by
simulation. No verdict depends on it, for few seeds show little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from repro.judge.scale import Array
from repro.judge.simulated import simulated
from repro.judge.student import MOST_SEEDS

_DRAWS = 50_000
_SEED = 99


def unusual(values: Array) -> tuple[str, ...]:
    """Return what is unusual about the values of a few seeds, in words.

    Nothing of fewer than four seeds, which show nothing, or of more than a few, which need it not.

    >>> unusual(np.array([0.6, 0.61, 0.6, 0.62, 0.61, 0.62, 0.61, 0.1]))
    ('one seed lies far from the others', 'skewed')
    """
    seeds = len(values)
    if not 4 <= seeds <= MOST_SEEDS or np.ptp(values) == 0:
        return ()
    limits = _usual(seeds)
    seen = [float(measure(values[:, None])[0]) for measure in _MEASURES.values()]
    return tuple(
        name for name, value, limit in zip(_MEASURES, seen, limits, strict=True) if value > limit
    )


def _alone(samples: Array) -> Any:
    """The distance of the most extreme value from the mean, in standard deviations (Grubbs)."""
    return np.abs(samples - samples.mean(axis=0)).max(axis=0) / samples.std(axis=0, ddof=1)


def _gap(samples: Array) -> Any:
    """The widest gap that leaves at least two values on each side, in standard deviations."""
    steps = np.diff(np.sort(samples, axis=0), axis=0)[1:-1]
    return steps.max(axis=0) / samples.std(axis=0, ddof=1)


def _skewness(samples: Array) -> Any:
    centred = samples - samples.mean(axis=0)
    return np.abs(np.mean(centred**3, axis=0)) / np.mean(centred**2, axis=0) ** 1.5


_MEASURES = {
    "one seed lies far from the others": _alone,
    "the seeds fall into two groups": _gap,
    "skewed": _skewness,
}


@simulated
def _usual(seeds: int) -> tuple[float, ...]:
    draws = np.random.default_rng(_SEED).standard_normal((seeds, _DRAWS))
    return tuple(float(np.quantile(measure(draws), 0.99)) for measure in _MEASURES.values())
