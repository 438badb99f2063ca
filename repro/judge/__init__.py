"""Judges statements by evidence over paired seeds, with stated error rates.

Every statement is a conjunction of terms, nearly all of them paired differences, one per seed, that
should be positive. It is *reproduced* when every term significantly holds, *refuted* when any
significantly fails, and otherwise *inconclusive*. Seeds are added in looks until the verdict
stands; the chance of a false verdict is bounded over all looks together.
"""

from repro.judge.curve import Curve
from repro.judge.design import Design
from repro.judge.effect import Effect, Sample
from repro.judge.judge import Judge
from repro.judge.ladder import Ladder
from repro.judge.measured import Gain, Measured
from repro.judge.ranking import Ranking
from repro.judge.scale import Scale, ScaleError
from repro.judge.shrinkage import Excess, has_shrunk
from repro.judge.suite import SUITE_LEVEL, holm
from repro.judge.terms import Statement
from repro.judge.verdict import Outcome, Verdict, conjunction

__all__ = [
    "SUITE_LEVEL",
    "Curve",
    "Design",
    "Effect",
    "Excess",
    "Gain",
    "Judge",
    "Ladder",
    "Measured",
    "Outcome",
    "Ranking",
    "Sample",
    "Scale",
    "ScaleError",
    "Statement",
    "Verdict",
    "conjunction",
    "has_shrunk",
    "holm",
]
