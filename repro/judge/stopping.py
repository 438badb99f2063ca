"""An estimate corrected for stopping: those of verdicts that fell early are too large.

Looking ends at the first clear answer, and it is clear where the seeds happened to give more than
the true effect. The mean at which a verdict falls is simulated for a grid of true effects; the
corrected estimate is the true effect whose verdicts fall, on average, at the mean that was
measured. That removes most of the error over all looks together: for a true effect of 1 standard
deviation the average 1.22 becomes 1.06. It can do little for the first look alone, since five seeds
do not tell a large effect from a small spread.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from repro.judge.design import Design, simulated_looks
from repro.judge.futility import is_hopeless
from repro.judge.scale import Array
from repro.judge.student import critical, tail

_EFFECTS = np.concatenate([np.arange(0, 3, 0.1), np.arange(3, 8.1, 0.5)])
_FEWEST = 20
"""The number of simulated verdicts below which their mean is not used."""


def without_stopping(mean: float, spread: float, design: Design) -> float:
    """Return the mean of a settled difference, corrected for having stopped when it was clear.

    >>> design = Design(looks=(5, 8, 12))
    >>> [round(without_stopping(mean, 1.0, design), 1) for mean in (1.0, -1.2, 3.0)]
    [0.5, -1.0, 3.0]
    """
    true, measured = _means_when_settled(design)
    in_sd = abs(mean) / spread
    if in_sd >= measured[-1]:
        return mean
    return float(np.sign(mean) * spread * np.interp(in_sd, measured, true))


@lru_cache(maxsize=16)
def _means_when_settled(design: Design) -> tuple[Array, Array]:
    """Return true effects, and the mean difference of the verdicts that reproduce each."""
    true, measured = [], []
    for effect in _EFFECTS:
        settled = _settled(design, float(effect))
        if len(settled) >= _FEWEST:
            true.append(effect)
            measured.append(settled.mean())
    return np.array(true), np.maximum.accumulate(np.array(measured))


def _settled(design: Design, effect: float) -> Array:
    """Return the means at which simulated verdicts reproduce an effect of so many deviations."""
    drawn, spreads = simulated_looks(design.looks)
    means = drawn + effect
    undecided = np.ones(len(means), dtype=bool)
    settled = []
    for look, (clear, hopeless) in enumerate(_turning_points(design)):
        t = means[:, look] / spreads[:, look] * design.looks[look] ** 0.5
        settled.append(means[undecided & (t >= clear), look])
        undecided &= (np.abs(t) < clear) & (np.abs(t) >= hopeless)
    return np.concatenate(settled)


@lru_cache(maxsize=16)
def _turning_points(design: Design) -> list[tuple[float, float]]:
    """Return, for each look, the t from which a mean is clear, and that below which it is given up.

    To compare t with both takes a hundredth of the time of the p of every simulated mean.
    """
    return [
        (float(critical(design.boundary(seeds), seeds - 1)), _hopeless_below(design, seeds))
        for seeds in design.looks
    ]


def _hopeless_below(design: Design, seeds: int) -> float:
    """Return the t, in either direction, below which a mean is given up at the look at `seeds`."""
    last = design.looks[-1]
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        both = (tail(middle, seeds - 1), tail(-middle, seeds - 1))
        given_up = is_hopeless(*([(p, design.boundary(last), seeds / last)] for p in both))
        low, high = (middle, high) if given_up else (low, middle)
    return high
