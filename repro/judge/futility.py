"""The rule for giving up a statement that the rest of the seeds would hardly settle.

Stopping without a verdict cannot make a false one, so the boundaries stay as they are; what it
costs is power, and `Design.power` counts that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

HOPELESS = 0.1
"""A statement is given up where more seeds would settle it with a smaller chance than this."""


def predictive_power(p: Any, boundary: float, share: float) -> Any:
    """The chance that a comparison which stands at `p` now will cross `boundary` at the last look.

    `share` is the part of the budget's seeds that is spent so far. The true effect is taken to be
    as uncertain as its estimate (predictive power with a flat prior; Spiegelhalter, Freedman and
    Blackburn 1986), the spread is taken as known.

    >>> [round(float(predictive_power(p, 0.0019, 8 / 12)), 2) for p in (0.01, 0.05, 0.2)]
    [0.47, 0.11, 0.0]
    """
    reached, needed = -ndtri(p), -ndtri(boundary)
    return ndtr((reached - needed * share**0.5) / (1 - share) ** 0.5)


def is_hopeless(
    to_hold: Sequence[tuple[Any, float]], to_fail: Sequence[tuple[Any, float]], share: float
) -> Any:
    """Return True where more seeds would hardly settle what is open.

    It is settled where all of `to_hold` cross their boundary, or one of `to_fail` does. Both are
    comparisons, as the p that each stands at and the boundary at which it counts.

    >>> bool(is_hopeless([(0.5, 0.0019)], [(0.5, 0.0019)], 5 / 12))
    True
    """
    if share >= 1:
        return np.True_
    all_hold = np.min([predictive_power(*comparison, share) for comparison in to_hold], axis=0)
    one_fails = np.sum([predictive_power(*comparison, share) for comparison in to_fail], axis=0)
    return all_hold + one_fails < HOPELESS
