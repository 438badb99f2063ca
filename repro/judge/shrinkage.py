"""A test of whether an effect has become smaller than it was when a ledger accepted it.

On another kind of machine rounding differs, training is chaotic, and so its runs are other runs. A
verdict that only just stood there may stay open here without anything being wrong. So the verdicts
are not required to be the same; only the effect must not be smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtr  # type: ignore[import-untyped]

LEVEL = 0.001
"""The chance that a claim is said to have changed where nothing has. A suite has hundreds."""


@dataclass(frozen=True)
class Excess:
    """The distance of a comparison past its bound, over seeds, on the scale it is judged on."""

    mean: float
    spread: float
    """The standard deviation over seeds."""
    seeds: int


def has_shrunk(accepted: Sequence[Excess], measured: Sequence[Excess]) -> bool:
    """Return True if any comparison of a claim lies less far past its bound than was accepted.

    A claim ends at the first statement that is not shown, so fewer comparisons may be measured than
    were accepted; they come in the same order, and share the level. If more are measured, or none,
    they cannot be matched, and the answer is True.

    >>> has_shrunk([Excess(2.0, 1.0, 12)], [Excess(1.0, 1.0, 12)])
    False
    >>> has_shrunk([Excess(2.0, 1.0, 12)], [Excess(0.0, 1.0, 12)])
    True
    """
    if not measured or len(measured) > len(accepted):
        return True
    pairs = zip(accepted, measured, strict=False)
    return min(chance_of_less(*pair) for pair in pairs) < LEVEL / len(measured)


def chance_of_less(accepted: Excess, measured: Excess) -> float:
    """The chance of a mean this much smaller, were both the same: Welch's t test, one-sided."""
    variances = [each.spread**2 / each.seeds for each in (accepted, measured)]
    if not any(variances):
        return float(measured.mean >= accepted.mean)
    degrees = sum(variances) ** 2 / sum(
        variance**2 / (each.seeds - 1)
        for variance, each in zip(variances, (accepted, measured), strict=True)
    )
    return float(stdtr(degrees, (measured.mean - accepted.mean) / sum(variances) ** 0.5))
