"""Judges statements by evidence over paired seeds, with stated error rates.

Every statement is a conjunction of terms, nearly all of them paired differences, one per seed, that
should be positive. It is *reproduced* when every term significantly holds, *refuted* when any
significantly fails, and otherwise *inconclusive*. Seeds are added in looks until the verdict
stands; the chance of a false verdict is bounded over all looks together.
"""

from repro.judge.comparing import Held, distances, held_against, reference
from repro.judge.curve import Curve
from repro.judge.design import Design, OneLook
from repro.judge.divergence import Divergence
from repro.judge.effect import Effect, Sample
from repro.judge.findings import Findings
from repro.judge.judge import Judge
from repro.judge.ladder import Ladder
from repro.judge.measured import Gain, Measured
from repro.judge.ranking import Ranking
from repro.judge.scale import Scale, ScaleError
from repro.judge.shrinkage import Excess, Standing, chance_of_less, chance_unchanged, standing
from repro.judge.suite import SUITE_LEVEL, false_shares, holm
from repro.judge.terms import Statement
from repro.judge.verdict import Outcome, Verdict, all_of, conjunction, either

__all__ = [
    "SUITE_LEVEL",
    "Curve",
    "Design",
    "Divergence",
    "Effect",
    "Excess",
    "Findings",
    "Gain",
    "Held",
    "Judge",
    "Ladder",
    "Measured",
    "OneLook",
    "Outcome",
    "Ranking",
    "Sample",
    "Scale",
    "ScaleError",
    "Standing",
    "Statement",
    "Verdict",
    "all_of",
    "chance_of_less",
    "chance_unchanged",
    "conjunction",
    "distances",
    "either",
    "false_shares",
    "held_against",
    "holm",
    "reference",
    "standing",
]
