"""Evidence over paired seeds to a verdict, with stated error rates.

Every statement is a conjunction of terms: paired differences, one per seed, that should be
positive. It is *reproduced* when every term is significantly positive, *refuted* when any is
significantly negative, and otherwise *inconclusive*. Seeds are added in looks until the verdict
stands; the chance of a false verdict is bounded over all looks together.
"""

from repro.judge.design import Design
from repro.judge.judge import Judge
from repro.judge.ladder import Ladder
from repro.judge.measured import Gain, Measured
from repro.judge.scale import Scale, ScaleError
from repro.judge.terms import Statement
from repro.judge.verdict import Effect, Outcome, Verdict, conjunction

__all__ = [
    "Design",
    "Effect",
    "Gain",
    "Judge",
    "Ladder",
    "Measured",
    "Outcome",
    "Scale",
    "ScaleError",
    "Statement",
    "Verdict",
    "conjunction",
]
