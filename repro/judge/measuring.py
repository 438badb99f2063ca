"""A judge that takes every finding for true, so that a claim's test is read to its end.

It is for those who want to know how far past its bound each comparison is, and not whether.
"""

from __future__ import annotations

from dataclasses import dataclass

from repro.judge.judge import Judge
from repro.judge.terms import Statement
from repro.judge.verdict import Outcome, Verdict


@dataclass
class MeasuringJudge(Judge):
    """Asks for the values of all seeds of its last look, and finds everything reproduced.

    >>> judge = MeasuringJudge(Design(looks=(3,)))
    >>> falling = Measured(judge=judge, label="a", metric="m", values=lambda n: [-3.0, -1.0, -2.0])
    >>> bool(falling > 0.0), [excess.mean for excess in distances(judge.verdicts[0], 3)]
    (True, [-2.0])
    """

    def _decided(self, statement: Statement, *, ways: int = 1) -> Verdict:
        seeds = self.design.looks[-1]
        for side in statement.sides:
            side.values(seeds)
        return Verdict(
            outcome=Outcome.REPRODUCED,
            statement=statement.text,
            seeds=seeds,
            judge=self,
            judged=statement,
        )
