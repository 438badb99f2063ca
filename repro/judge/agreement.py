"""Whether two measurements of one comparison agree: what was found elsewhere against what is here.

On another kind of machine rounding differs, training is chaotic, and so its runs are other runs. A
verdict that only just stood there may stay open here without anything being wrong. What is asked is
therefore not whether the verdict is the same, but whether the effect has become smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtr  # type: ignore[import-untyped]

LEVEL = 0.001
"""The chance that a claim is said to have changed where nothing has. A suite has hundreds."""


@dataclass(frozen=True)
class Past:
    """How far past its bound a comparison is, over seeds, on the scale that it is judged on."""

    mean: float
    spread: float
    """The standard deviation over seeds."""
    seeds: int


def has_shrunk(accepted: Sequence[Past], found: Sequence[Past]) -> bool:
    """Whether any comparison of a claim is less far past its bound than was accepted.

    A claim ends at the first statement that is not shown, so that fewer may be found than were
    accepted; they come in the same order, and share the level. Where more are found, or none,
    nothing speaks for agreement.

    >>> has_shrunk([Past(2.0, 1.0, 12)], [Past(1.0, 1.0, 12)])
    False
    >>> has_shrunk([Past(2.0, 1.0, 12)], [Past(0.0, 1.0, 12)])
    True
    """
    if not found or len(found) > len(accepted):
        return True
    pairs = zip(accepted, found, strict=False)
    return min(chance_of_less(*pair) for pair in pairs) < LEVEL / len(found)


def chance_of_less(accepted: Past, found: Past) -> float:
    """The chance of a mean this much smaller, were both the same: Welch's t test, one-sided."""
    variances = [each.spread**2 / each.seeds for each in (accepted, found)]
    if not any(variances):
        return float(found.mean >= accepted.mean)
    degrees = sum(variances) ** 2 / sum(
        variance**2 / (each.seeds - 1)
        for variance, each in zip(variances, (accepted, found), strict=True)
    )
    return float(stdtr(degrees, (found.mean - accepted.mean) / sum(variances) ** 0.5))
