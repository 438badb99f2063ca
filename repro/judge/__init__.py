"""Judges statements by evidence over paired seeds, with stated error rates.

A statement is a conjunction of terms. Nearly every term says that paired differences, one per seed,
are positive. A statement is *reproduced* when every term significantly holds, *refuted* when any
term significantly fails, and otherwise *inconclusive*. Seeds are added in looks until the verdict
stands; the chance of a false verdict is bounded over all looks together.

From the bottom up: scales and statistics (`scale`, `statistic`), when to look (`looks`), the test
of a comparison (`comparison`, `effect`), also for samples that grow at will (`anytime`), which runs
are a sample (`sample`), what is tested (`contrast`, `terms`, `printed`), one statement (`verdict`,
`judge`), the words of claims (`measured`, `shapes`), and the ledger (`smaller`, `level_shift`).
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from repro.judge.anytime import AnyTime
from repro.judge.comparison import Excess, detectable
from repro.judge.contrast import Statement
from repro.judge.effect import Effect, EffectSize, Sample
from repro.judge.judge import Judge
from repro.judge.looks import LEVEL, Design, OneLook, require_level
from repro.judge.measured import Gain, Measured
from repro.judge.sample import Runs
from repro.judge.scale import Scale, ScaleError
from repro.judge.shapes import Curve, Ladder
from repro.judge.smaller import (
    LedgerComparison,
    Standing,
    compare_with_ledger,
    reference,
)
from repro.judge.verdict import Beyond, Findings, Outcome, Verdict, p_of_all

__all__ = [
    "LEVEL",
    "AnyTime",
    "Beyond",
    "Curve",
    "Design",
    "Effect",
    "EffectSize",
    "Excess",
    "Findings",
    "Gain",
    "Judge",
    "Ladder",
    "LedgerComparison",
    "Measured",
    "OneLook",
    "Outcome",
    "Runs",
    "Sample",
    "Scale",
    "ScaleError",
    "Standing",
    "Statement",
    "Verdict",
    "compare_with_ledger",
    "detectable",
    "p_of_all",
    "reference",
    "require_level",
]


class _Room(ModuleType):
    """This package, which hides `repro.recorded.judge` where that is looked for: call either."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("repro.recorded").judge(*arguments, **options)


sys.modules[__name__].__class__ = _Room
