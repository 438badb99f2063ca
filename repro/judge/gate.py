"""The test of whether an effect has become smaller than a ledger says, and the seeds it takes.

Other bits are other runs: on another kind of machine, or after a harmless change, a finding that
only just stood may stay open without anything being wrong. So what is open is not a failure by
itself; only an effect that has become smaller is.

The rule. Each comparison of an open claim is held against the ledger by a t test with a pooled
spread, and the chances are multiplied by the number of the claim's comparisons (Bonferroni). From
`DOUBT` on upwards nothing speaks against the ledger. Below it the claim is in doubt and takes more
seeds, up to each of `FURTHER` in turn. Below `LEVEL`, from `DECISIVE` seeds on, the effect has
become smaller; with fewer seeds a single skewed metric would be called smaller far too often.

The spread is pooled because, where nothing has changed, both samples are of one distribution. That
makes five seeds against twenty a sharp test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import fdtrc, stdtr  # type: ignore[import-untyped]

from repro.judge.contrast import Contrast, Readings, Statement
from repro.judge.evidence import Excess
from repro.judge.scale import ScaleError
from repro.judge.verdict import Outcome, Verdict

LEVEL = 2e-5
"""The chance at each decisive look that an unchanged claim is called smaller."""

DOUBT = 0.05
"""A claim takes more seeds where effects this small would be rarer than this, were all the same."""

FURTHER = (8, 12, 20, 30)
"""The seeds that a claim in doubt takes, in turn."""

DECISIVE = 12
"""The fewest seeds at which an effect can be called smaller."""

REPORTED = 0.001
"""The chance at which a claim that still holds is reported as smaller than it was."""

_ROUNDING = 1e-5
"""The largest relative difference of two exact distances that counts as none.

A ledger keeps six digits of each.
"""


class Standing(Enum):
    """The result of a comparison with the ledger."""

    AS_IT_WAS = "no smaller than it was"
    IN_DOUBT = "not clearly smaller than it was"
    SMALLER = "smaller than it was"
    INCOMPARABLE = "not to be compared with the ledger"


def standing(chance: float, seeds: int) -> Standing:
    """Return what a claim's chance at this number of seeds says of it."""
    if chance < LEVEL and seeds >= DECISIVE:
        return Standing.SMALLER
    return Standing.IN_DOUBT if chance < DOUBT else Standing.AS_IT_WAS


def chance_of_less(accepted: Excess, measured: Excess) -> Any:
    """Return the chance of a distance this much smaller, were both drawn from the same runs.

    >>> round(float(chance_of_less(Excess(2.0, 1.0, 20), Excess(1.0, 1.0, 5))), 3)
    0.029
    """
    here, there = measured.seeds - 1, accepted.seeds - 1
    less = accepted.mean - measured.mean
    if accepted.spread is None:
        return fdtrc(here, there, np.exp(2 * less))
    squares = there * accepted.spread**2 + here * measured.spread**2
    error = np.sqrt(squares / (here + there) * (1 / accepted.seeds + 1 / measured.seeds))
    t = less / np.where(error > 0, error, 1.0)
    is_less = less > _ROUNDING * np.abs(accepted.mean)
    return np.where(error > 0, stdtr(here + there, -t), np.where(is_less, 0.0, 1.0))[()]


def chance_unchanged(
    accepted: Sequence[Excess], measured: Sequence[Excess], *, among: int | None = None
) -> Any:
    """Return the chance that any comparison would be this much smaller, were all the same.

    It is at most that for all of the claim's comparisons, which are `among` if more than these.

    >>> there, here = Excess(2.0, 1.0, 20), Excess(0.0, 1.0, 20)
    >>> [standing(chance_unchanged([there], [now]), 20).name for now in (there, here)]
    ['AS_IT_WAS', 'SMALLER']
    """
    chances = [chance_of_less(*pair) for pair in zip(accepted, measured, strict=True)]
    count = len(measured) if among is None else among
    return np.minimum(1.0, count * np.min(chances, axis=0))[()]


@dataclass(frozen=True)
class LedgerComparison:
    """The comparisons of one finding, held against those that a ledger accepted."""

    verdict: Verdict
    standing: Standing
    chance: float = 0.0
    """The chance that any would be this much smaller, were nothing changed."""
    accepted: tuple[Excess, ...] = ()
    measured: tuple[Excess, ...] = ()
    """The same comparisons now; empty where they cannot be compared."""

    @property
    def seeds(self) -> int:
        """The number of seeds that it took to tell."""
        return max((each.seeds for each in self.measured), default=self.verdict.seeds)

    @property
    def is_reported(self) -> bool:
        """True where a reader is told that the effect is smaller than it was."""
        return bool(self.measured) and self.chance < REPORTED

    def __str__(self) -> str:
        """The comparison that has most become smaller."""
        if not self.measured:
            return f"this finding is {self.standing.value}"
        pairs = zip(self.accepted, self.measured, strict=True)
        there, here = min(pairs, key=lambda pair: float(chance_of_less(*pair)))
        return (
            f"{self.standing.value}: {_amount(there)} past the bound over {there.seeds} seeds"
            f" there, {_amount(here)} over {here.seeds} here (p = {self.chance:.2g})"
        )


def _amount(excess: Excess) -> str:
    """A distance in words, in standard deviations over seeds where it has a spread."""
    if excess.spread is None:
        return f"a ratio of {np.exp(excess.mean):.3g}"
    return f"{excess.mean / excess.spread:.2f} sd" if excess.spread else f"{excess.mean:.6g}"


def compare_with_ledger(
    accepted: Sequence[Excess], findings: Sequence[Verdict], *, has: Callable[[int], bool]
) -> list[LedgerComparison]:
    """Hold the findings of a claim against the distances of all its comparisons, in their order.

    What is open and in doubt takes more seeds, as far as the claim `has` the values of so many.
    """
    compared, before = [], 0
    for verdict in findings:
        comparisons = sum(len(each.terms) for each in _statements(verdict))
        own = accepted[before : before + comparisons]
        compared.append(_compared(verdict, own, among=len(accepted), has=has))
        before += comparisons
    return compared


def _compared(
    verdict: Verdict, accepted: Sequence[Excess], *, among: int, has: Callable[[int], bool]
) -> LedgerComparison:
    compared = LedgerComparison(verdict, Standing.INCOMPARABLE)
    for seeds in (verdict.seeds, *(each for each in FURTHER if each > verdict.seeds)):
        measured = distances(verdict, seeds) if has(seeds) else []
        kinds, now = ([each.spread is None for each in side] for side in (accepted, measured))
        if not measured or kinds != now:
            break
        chance = float(chance_unchanged(accepted, measured, among=among))
        found = standing(chance, seeds)
        compared = LedgerComparison(verdict, found, chance, tuple(accepted), tuple(measured))
        if verdict.outcome is not Outcome.INCONCLUSIVE or found is not Standing.IN_DOUBT:
            break
    return compared


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
    found: list[Excess] = []
    for statement in _statements(verdict):
        readings = {side: np.asarray(side.values(seeds), dtype=float) for side in statement.sides}
        if not all(np.isfinite(values).all() for values in readings.values()):
            return []
        try:
            found += [_distance(term, readings, seeds) for term in statement.terms]
        except ScaleError:
            return []
    return found if all(np.isfinite(each.mean) for each in found) else []


def _distance(term: Contrast, readings: Readings, seeds: int) -> Excess:
    if np.any(term.is_trivial(readings)):
        return Excess(0.0, 0.0, seeds)
    evidence = term.weigh(readings)
    spread = None if evidence.spread is None else float(evidence.spread)
    return Excess(float(evidence.mean), spread, evidence.seeds)


def _statements(verdict: Verdict) -> list[Statement]:
    """Return the statements that were decided for a finding, or for its parts."""
    judged = [each.judged for each in verdict.parts or (verdict,)]
    return [statement for statement in judged if statement is not None]
