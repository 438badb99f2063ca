"""Findings held against a ledger, and measured for the next one.

Both may take more seeds than the verdicts did; they ask for them as the judge does, by reading the
values of so many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from repro.judge.evidence import ROUNDING
from repro.judge.one_run import OneRun
from repro.judge.paired import Paired
from repro.judge.scale import Array, ScaleError
from repro.judge.shares import ShareOfRuns
from repro.judge.shrinkage import (
    FURTHER,
    REPORTED,
    Excess,
    Standing,
    chance_of_less,
    chance_unchanged,
    power_for_half,
    standing,
)
from repro.judge.spread import SmallSpread
from repro.judge.terms import Readings, Statement, Term
from repro.judge.verdict import Outcome, Verdict


@dataclass(frozen=True)
class Held:
    """The comparisons of one finding, held against those that a ledger accepted."""

    verdict: Verdict
    standing: Standing
    chance: float = 0.0
    """The chance that any would be this much smaller, were nothing changed."""
    accepted: tuple[Excess, ...] = ()
    measured: tuple[Excess, ...] = ()
    """The same comparisons now; empty where they cannot be compared."""
    among: int = 1
    """The number of comparisons of the whole claim, which share the levels."""

    @property
    def seeds(self) -> int:
        """The number of seeds that it took to tell."""
        return max((each.seeds for each in self.measured), default=self.verdict.seeds)

    @property
    def is_reported(self) -> bool:
        """True where a reader is told that the effect is smaller than it was."""
        return bool(self.measured) and self.chance < REPORTED

    def __str__(self) -> str:
        """The comparison that has most become smaller, and what would have been noticed."""
        if not self.measured:
            return f"this finding is {self.standing.value}"
        pairs = zip(self.accepted, self.measured, strict=True)
        there, here = min(pairs, key=lambda pair: float(chance_of_less(*pair)))
        half = power_for_half(there, here.seeds, among=self.among)
        return (
            f"{self.standing.value}: {_amount(there)} past the bound over {there.seeds} seeds"
            f" there, {_amount(here)} over {here.seeds} here (p = {self.chance:.2g}); that half of"
            f" it is gone would be reported in {half:.0%}"
        )


def _amount(excess: Excess) -> str:
    """A distance in words, in standard deviations over seeds where it has a spread."""
    if excess.spread is None:
        return f"a ratio of {np.exp(excess.mean):.3g}"
    return f"{excess.mean / excess.spread:.2f} sd" if excess.spread else f"{excess.mean:.6g}"


def held_against(
    accepted: Sequence[Excess], findings: Sequence[Verdict], *, has: Callable[[int], bool]
) -> list[Held]:
    """Hold the findings of a claim against the distances of all its comparisons, in their order.

    What is open and in doubt takes more seeds (`shrinkage.FURTHER`), as far as the claim `has` the
    values of so many.
    """
    held, before = [], 0
    for verdict in findings:
        comparisons = sum(len(each.terms) for each in statements_of(verdict))
        own = accepted[before : before + comparisons]
        held.append(_held(verdict, own, among=len(accepted), has=has))
        before += comparisons
    return held


def _held(
    verdict: Verdict, accepted: Sequence[Excess], *, among: int, has: Callable[[int], bool]
) -> Held:
    held = Held(verdict, Standing.INCOMPARABLE)
    for seeds in (verdict.seeds, *(each for each in FURTHER if each > verdict.seeds)):
        measured = distances(verdict, seeds) if has(seeds) else []
        if not _is_alike(accepted, measured):
            break
        chance = float(chance_unchanged(accepted, measured, among=among))
        now = standing(chance, seeds)
        held = Held(verdict, now, chance, tuple(accepted), tuple(measured), among)
        if verdict.outcome is not Outcome.INCONCLUSIVE or now is not Standing.IN_DOUBT:
            break
    return held


def _is_alike(accepted: Sequence[Excess], measured: Sequence[Excess]) -> bool:
    """Return whether there are as many comparisons, of the same kinds."""
    kinds = [[each.spread is None for each in side] for side in (accepted, measured)]
    return bool(measured) and kinds[0] == kinds[1]


def reference(
    findings: Sequence[Verdict], seeds: int, *, has: Callable[[int], bool]
) -> list[Excess]:
    """Return how far past its bound each comparison is, over so many seeds if it `has` them.

    Over those that the verdict took, if these are more, or if some of the others have no value.
    Empty where one of the comparisons has no distance.
    """
    found = [
        (distances(verdict, seeds) if seeds > verdict.seeds and has(seeds) else [])
        or distances(verdict, verdict.seeds)
        for verdict in findings
    ]
    return [excess for each in found for excess in each] if all(found) else []


@lru_cache(maxsize=64)  # a claim is held against its ledger, and measured for the next one
def distances(verdict: Verdict, seeds: int) -> list[Excess]:
    """Return how far past its bound each comparison of a finding is, over the first seeds.

    Empty where one has no distance: a value is not finite, or has no place on its scale; nothing
    scatters where a spread is claimed. What nothing could fail has none to lose: it is 0.
    """
    found = [_distances(statement, seeds) for statement in statements_of(verdict)]
    return [excess for each in found for excess in each] if all(found) else []


def statements_of(verdict: Verdict) -> list[Statement]:
    """Return the statements that were decided for a finding, or for its parts."""
    if verdict.judged is not None:
        return [verdict.judged]
    return [statement for part in verdict.parts for statement in statements_of(part)]


def _distances(statement: Statement, seeds: int) -> list[Excess]:
    readings = {side: np.asarray(side.values(seeds), dtype=float) for side in statement.sides}
    if not all(np.isfinite(values).all() for values in readings.values()):
        return []
    try:
        found = [
            Excess(0.0, 0.0, seeds)
            if np.any(term.is_trivial(readings))
            else _distance(term, readings)
            for term in statement.terms
        ]
    except ScaleError:
        return []
    return [each for each in found if each is not None] if None not in found else []


def _distance(term: Term, readings: Readings) -> Excess | None:
    """Return how far past its bound a term is; None where it has no distance.

    Its spread is that over seeds alone: the examples of the data are the same ones in the ledger.
    """
    match term:
        case SmallSpread():
            values = readings[term.arm]
            spread = max(float(values.std(ddof=1)), term.half_example)
            if spread <= ROUNDING * np.abs(values).max():
                return None
            return Excess(float(np.log(term.at_most / spread)), None, len(values))
        case ShareOfRuns():
            holds = term.comparison.differences(readings) > _rounding(term.comparison, readings)
            return _of(holds.astype(float) - term.at_least, 0.0)
        case OneRun():
            left, right = term.comparison.parts(readings)
            inside = term.inside((left - right).mean(), right)
            spread = _of(left - right, _rounding(term.comparison, readings)).spread
            return Excess(float(inside), spread, len(left))
        case Paired() if not term.is_paired:
            apart = term.weigh(readings)
            return Excess(float(apart.mean), float(apart.spread), apart.seeds)
        case Paired():
            return _of(term.differences(readings), _rounding(term, readings))
    return None


def _of(differences: Array, rounding: float) -> Excess:
    spread = float(differences.std(ddof=1))
    return Excess(float(differences.mean()), spread if spread > rounding else 0.0, len(differences))


def _rounding(term: Paired, readings: Readings) -> float:
    return ROUNDING * float(max(np.abs(part).max() for part in term.parts(readings)))
