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


def predictive_power(p: Any, boundary: float, known: Any) -> Any:
    """The chance that a comparison which stands at `p` now will cross `boundary` at the last look.

    `known` is the share of what all seeds would tell that is known so far: of a mean over seeds,
    the share of the seeds. The true effect is taken to be as uncertain as its estimate (predictive
    power with a flat prior; Spiegelhalter, Freedman and Blackburn 1986), the spread is taken as
    known.

    >>> [round(float(predictive_power(p, 0.0027, 8 / 12)), 2) for p in (0.01, 0.05, 0.2)]
    [0.54, 0.14, 0.01]
    """
    reached, needed = -ndtri(p), -ndtri(boundary)
    distance = reached - needed * np.sqrt(known)
    remaining = np.sqrt(np.maximum(1 - np.asarray(known), 0.0))
    # Where nothing remains to be known, what has not been crossed will not be.
    return np.where(remaining > 0, ndtr(distance / np.where(remaining > 0, remaining, 1.0)), 0.0)


def is_hopeless(
    to_hold: Sequence[tuple[Any, float, Any]], to_fail: Sequence[tuple[Any, float, Any]]
) -> Any:
    """Return True where more seeds would hardly settle what is open.

    It is settled where all of `to_hold` cross their boundary, or one of `to_fail` does. Both are
    comparisons, as the p that each stands at, the boundary at which it counts at the last look, and
    the share of what all seeds would tell that is known.

    >>> bool(is_hopeless([(0.5, 0.0027, 5 / 12)], [(0.5, 0.0027, 5 / 12)]))
    True
    """
    all_hold = np.min([predictive_power(*comparison) for comparison in to_hold], axis=0)
    one_fails = np.sum([predictive_power(*comparison) for comparison in to_fail], axis=0)
    return all_hold + one_fails < HOPELESS
