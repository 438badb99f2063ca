"""The smallest effect that a design finds; a plan says it before anything is trained."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from repro.judge.evidence import Look, weigh
from repro.judge.looks import Design
from repro.judge.scale import Array

_SAMPLES, _SEED = 20_000, 80


def power(design: Design, differences: Array) -> float:
    """Return the share of samples of differences, [seeds, samples], that are `reproduced`."""
    reproduced = settled = np.zeros(1, dtype=bool)
    for seeds in design.looks:
        look = Look(design, [weigh([differences[:seeds]])])
        reproduced = reproduced | (~settled & look.reproduced)
        settled = settled | look.reproduced | look.refuted | look.is_hopeless
    return float(reproduced.mean())


@lru_cache(maxsize=16)
def detectable(design: Design) -> float:
    """Return the smallest effect of one comparison that is found with 80 % power.

    The effect is in standard deviations over seeds past the bound, found by simulation.

    >>> round(detectable(Design(looks=(5, 8, 12))), 1)
    1.3
    """
    noise = np.random.default_rng(_SEED).standard_normal((design.looks[-1], _SAMPLES))
    low, high = 0.0, 1.0
    while power(design, noise + high) < 0.8:
        low, high = high, 2 * high
    while high - low > 0.005 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power(design, noise + middle) >= 0.8 else (middle, high)
    return high
