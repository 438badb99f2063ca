"""When more seeds are not worth training: the rest of the budget would hardly settle anything.

Stopping without a verdict cannot make a false one, so the boundaries stay as they are; what it
costs is power, and `Design.power` counts that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

HOPELESS = 0.1
"""A statement is given up where the chance that more seeds settle it is less."""


def chance_of_crossing(p: Any, boundary: float, share: float) -> Any:
    """The chance that a comparison which stands at `p` now will cross `boundary` at the last look.

    `share` is that of the budget's seeds spent so far. What is to come is predicted from what has
    been seen and how little that was: the true effect is uncertain by as much as its estimate is
    (predictive power with a flat prior; Spiegelhalter, Freedman and Blackburn 1986), the spread is
    taken as known.

    >>> [round(float(chance_of_crossing(p, 0.0019, 8 / 12)), 2) for p in (0.01, 0.05, 0.2)]
    [0.47, 0.11, 0.0]
    """
    reached, needed = -ndtri(p), -ndtri(boundary)
    return ndtr((reached - needed * share**0.5) / (1 - share) ** 0.5)


def is_hopeless(
    wanted: Sequence[tuple[Any, float]], feared: Sequence[tuple[Any, float]], share: float
) -> Any:
    """Whether more seeds would hardly settle what is open: with all of `wanted`, or one `feared`.

    Both are comparisons, as the p that each stands at and the boundary at which it counts.

    >>> bool(is_hopeless([(0.5, 0.0019)], [(0.5, 0.0019)], 5 / 12))
    True
    """
    if share >= 1:
        return np.True_
    all_hold = np.min([chance_of_crossing(*comparison, share) for comparison in wanted], axis=0)
    one_fails = np.sum([chance_of_crossing(*comparison, share) for comparison in feared], axis=0)
    return all_hold + one_fails < HOPELESS
