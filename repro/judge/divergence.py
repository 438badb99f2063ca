"""Statements about runs that diverge: in how many, in which of two arms, and when.

They are about shares of runs, by exact binomial tests: a run diverges or it does not. That takes
seeds for independent; runs that all diverge are an answer here, and no question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from repro.judge.measured import Measured
from repro.judge.verdict import Verdict

_HALF = 0.5
"""Between 0, of a run that came to its end, and 1, of one that diverged."""


@dataclass(frozen=True)
class Divergence:
    """Which runs of an arm diverge, and at which step the first ones do.

    >>> fast = trials(FAST)  # every run of it diverges
    >>> assert fast.diverges.in_at_least(0.5)
    >>> assert fast.diverges.at_step > 20
    """

    of_runs: Measured
    """1 on the seeds whose run diverged, 0 on the others."""

    at_step: Measured
    """The step at which a run diverged, to compare as any metric; it takes all runs to diverge."""

    def in_at_least(self, share: float) -> Verdict:
        """Judge whether at least this share of all runs there could be diverges.

        >>> assert trials(FAST).diverges.in_at_least(0.5)
        """
        return self.of_runs.exceeds(_HALF, in_at_least=share)

    def in_at_most(self, share: float) -> Verdict:
        """Judge whether at most this share of all runs there could be diverges.

        >>> assert trials(DEEP).diverges.in_at_most(0.5)
        """
        if not 0 < share < 1:
            raise ValueError(
                f"in_at_most({share!r}) can be shown by no number of runs, or says nothing: give a"
                " share between 0 and 1"
            )
        return self.of_runs.falls_below(_HALF, in_at_least=1 - share)

    def more_often_than(self, other: Divergence, *, in_at_least: float = 0.5) -> Verdict:
        """Judge whether, in this share of the seeds, runs diverge here and not there.

        >>> fast, deep = trials(FAST, DEEP)
        >>> assert fast.diverges.more_often_than(deep.diverges)
        """
        return self.of_runs.exceeds(other.of_runs, in_at_least=in_at_least)

    def _no_order(self, other: object) -> NoReturn:
        raise TypeError(
            "Runs that diverge are compared by how often they do: write"
            " a.diverges.more_often_than(b.diverges), or a.diverges.in_at_least(0.5)"
        )

    __gt__ = __ge__ = __lt__ = __le__ = _no_order
