"""Tests whether an effect has become smaller than the ledger says.

Another kind of machine, or a harmless change of the code, gives other values. A claim that was only
just reproduced may then stay open, although nothing is wrong. So an open claim alone is no failure;
an effect that has become smaller is one.

The rule: of an open claim, each comparison that does not hold is compared with the ledger by a t
test with a pooled spread, and its p is multiplied by the number of all the claim's comparisons
(Bonferroni). At `DOUBT` or above, nothing speaks against the ledger. Below it the claim is in doubt
and gets more seeds, up to each of `FURTHER` in turn. Below `LEVEL`, with at least `DECISIVE` seeds,
the effect has become smaller. With fewer seeds, a single skewed metric would be called smaller far
too often.

A comparison that holds loses no finding, however much smaller it is. Below `REPORTED` it is said.

The spread is pooled because both samples have one distribution if nothing has changed. So even five
seeds against twenty are a sharp test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from scipy.special import stdtr  # type: ignore[import-untyped]

from repro.judge.comparison import Excess
from repro.judge.contrast import Readings
from repro.judge.scale import ScaleError
from repro.judge.verdict import Outcome, Verdict

LEVEL = 2e-5
"""The chance that an unchanged claim is called smaller, at each decisive look."""

DOUBT = 0.05
"""A claim gets more seeds if, unchanged, it would show so small an effect less often than this."""

FURTHER = (8, 12, 20, 30)
"""The numbers of seeds that a claim in doubt gets, in turn."""

DECISIVE = 12
"""An effect can be called smaller only with at least this number of seeds."""

REPORTED = 0.001
"""Below this chance a reader is told that an effect is smaller, where it decides nothing."""

_ROUNDING = 1e-5
"""Exact distances that differ relatively by no more are equal: a ledger keeps six digits."""


class Standing(Enum):
    """The result of a comparison with the ledger."""

    AS_IT_WAS = "no smaller than it was"
    IN_DOUBT = "looks smaller than it was"
    SMALLER = "smaller than it was"
    INCOMPARABLE = "not to be compared with the ledger"


def standing(chance: float, seeds: int, *, decides: bool = True) -> Standing:
    """Return the standing of comparisons with this chance, at this number of seeds.

    It `decides` whether an open claim fails. What holds, or is refuted, is only told to a reader.
    """
    is_smaller = chance < LEVEL and seeds >= DECISIVE if decides else chance < REPORTED
    if is_smaller:
        return Standing.SMALLER
    return Standing.IN_DOUBT if chance < DOUBT else Standing.AS_IT_WAS


def chance_of_less(accepted: Excess, measured: Excess) -> Any:
    """Return the chance of a distance this much smaller if both come from the same distribution.

    >>> round(float(chance_of_less(Excess(2.0, 1.0, 20), Excess(1.0, 1.0, 5))), 3)
    0.029
    """
    here, there = measured.seeds - 1, accepted.seeds - 1
    less = accepted.mean - measured.mean
    error = _pooled(accepted, measured) * (1 / accepted.seeds + 1 / measured.seeds) ** 0.5
    t = less / np.where(error > 0, error, 1.0)
    is_less = less > _ROUNDING * np.abs(accepted.mean)
    return np.where(error > 0, stdtr(here + there, -t), np.where(is_less, 0.0, 1.0))[()]


def chance_unchanged(
    accepted: Sequence[Excess],
    measured: Sequence[Excess],
    *,
    without: Sequence[Any] = (),
    among: int | None = None,
) -> Any:
    """Return an upper bound of the chance that any comparison is this much smaller by luck alone.

    `without` is true for each comparison that is left out, such as one that holds. `among` is the
    number of all comparisons of the claim, if there are more than these.

    >>> there, here = Excess(2.0, 1.0, 20), Excess(0.0, 1.0, 20)
    >>> [standing(chance_unchanged([there], [now]), 20).name for now in (there, here)]
    ['AS_IT_WAS', 'SMALLER']
    """
    chances = [chance_of_less(*pair) for pair in zip(accepted, measured, strict=True)]
    if without:
        chances = [np.where(out, 1.0, p) for out, p in zip(without, chances, strict=True)]
    count = len(measured) if among is None else among
    return np.minimum(1.0, count * np.min(chances, axis=0))[()]


@dataclass(frozen=True)
class LedgerComparison:
    """Comparisons of one finding beside those that the ledger accepted."""

    verdict: Verdict
    standing: Standing
    holds: bool = False
    """True where these comparisons hold now, so that they cannot fail the claim."""
    chance: float = 0.0
    """The chance that any of them is this much smaller if nothing has changed."""
    labels: tuple[str, ...] = ()
    accepted: tuple[Excess, ...] = ()
    measured: tuple[Excess, ...] = ()
    """The same comparisons now; empty where they cannot be compared with the ledger."""

    @property
    def seeds(self) -> int:
        """The number of seeds behind this comparison."""
        return max((each.seeds for each in self.measured), default=self.verdict.seeds)

    def __str__(self) -> str:
        """The standing, and the comparison that shrank the most."""
        if not self.measured:
            return f"this finding is {self.standing.value}"
        rows = zip(self.labels, self.accepted, self.measured, strict=True)
        label, there, here = min(rows, key=lambda row: float(chance_of_less(*row[1:])))
        spread = float(_pooled(there, here))
        return (
            f"{self.standing.value}: {label}, {_amount(there, spread)} past the bound over"
            f" {there.seeds} seeds there, {_amount(here, spread)} over {here.seeds} here"
            f" (p = {self.chance:.2g})"
        )


def _pooled(accepted: Excess, measured: Excess) -> Any:
    """Return the standard deviation over the seeds of both."""
    here, there = measured.seeds - 1, accepted.seeds - 1
    squares = there * accepted.spread**2 + here * measured.spread**2
    return np.sqrt(squares / (here + there))


def _amount(excess: Excess, spread: float) -> str:
    """A distance in words; in standard deviations over seeds, if there is a spread."""
    return f"{excess.mean / spread:.2f} sd" if spread else f"{excess.mean:.6g}"


def compare_with_ledger(
    accepted: Sequence[Excess], findings: Sequence[Verdict], *, has: Callable[[int], bool]
) -> list[LedgerComparison]:
    """Compare the findings of a claim with the accepted distances of its comparisons, in order.

    A finding that is open and in doubt gets more seeds, if the claim `has` their values. If it also
    has comparisons that hold, and have become smaller, these follow by themselves.
    """
    compared: list[LedgerComparison] = []
    left = iter(accepted)
    for verdict in findings:
        comparisons = list(_comparisons(verdict))
        own = list(islice(left, len(comparisons)))
        compared += _compared(verdict, comparisons, own, among=len(accepted), has=has)
    return compared


def _compared(
    verdict: Verdict,
    comparisons: Sequence[tuple[str, bool]],
    accepted: Sequence[Excess],
    *,
    among: int,
    has: Callable[[int], bool],
) -> Iterator[LedgerComparison]:
    """Yield the comparisons that do not hold, beside the ledger, or else all of them.

    Those that hold beside such ones follow where they have become smaller.
    """
    holds = [now for _, now in comparisons]
    is_open = verdict.outcome is Outcome.INCONCLUSIVE

    def compared(seeds: int, *, holding: bool) -> LedgerComparison | None:
        measured = distances(verdict, seeds) if has(seeds) else []
        if not measured or len(measured) != len(accepted):
            return None
        without = [now is not holding for now in holds]
        chance = float(chance_unchanged(accepted, measured, without=without, among=among))
        found = standing(chance, seeds, decides=is_open and not holding)
        rows = zip(comparisons, accepted, measured, holds, strict=True)
        kept = [(label, *pair) for (label, _), *pair, now in rows if now is holding]
        return LedgerComparison(verdict, found, holding, chance, *zip(*kept, strict=True))

    latest = compared(verdict.seeds, holding=all(holds))
    if latest is None:
        yield LedgerComparison(verdict, Standing.INCOMPARABLE, all(holds))
        return
    for seeds in FURTHER if is_open else ():
        if seeds > verdict.seeds and latest.standing is Standing.IN_DOUBT:
            more = compared(seeds, holding=False)
            if more is None:
                break
            latest = more
    yield latest
    beside = compared(verdict.seeds, holding=True) if any(holds) and not all(holds) else None
    if beside is not None and beside.standing is Standing.SMALLER:
        yield beside


def reference(
    findings: Sequence[Verdict], seeds: int, *, has: Callable[[int], bool]
) -> list[Excess]:
    """Return the distance of each comparison past its bound, for the ledger.

    It is taken over `seeds` seeds. If the verdict used more, or the claim does not have all values,
    it is taken over the seeds of the verdict. Empty where a comparison has no distance.
    """
    found = [
        (distances(verdict, seeds) if seeds > verdict.seeds and has(seeds) else [])
        or distances(verdict, verdict.seeds)
        for verdict in findings
    ]
    return [excess for each in found for excess in each] if all(found) else []


@lru_cache(maxsize=64)  # asked for twice: to compare with the ledger, and to write the next one
def distances(verdict: Verdict, seeds: int) -> list[Excess]:
    """Return how far past its bound each comparison of a finding is, over the first seeds.

    Empty where a comparison has no distance: a value is not finite, or lies outside the scale, or
    the runs are no sample. A comparison that no value could fail has the distance 0.
    """
    readings = _readings(verdict, seeds)
    if not all(np.isfinite(values).all() for values in readings.values()):
        return []
    found: list[Excess] = []
    for term in verdict.judged.terms:
        if not term.sampled(readings).is_whole:
            return []
        if np.any(term.is_trivial(readings)):
            found.append(Excess(0.0, 0.0, seeds))
            continue
        try:
            of_term = term.weigh(readings)
        except ScaleError:
            return []
        found.append(Excess(float(of_term.mean), float(of_term.spread), of_term.seeds))
    return found if all(np.isfinite(each.mean) for each in found) else []


def _comparisons(verdict: Verdict) -> Iterator[tuple[str, bool]]:
    """Yield the label of each comparison of a finding, and whether it holds at its last look."""
    readings = _readings(verdict, verdict.seeds)
    needed = iter([effect for effect in verdict.effects if effect.needed])
    for term in verdict.judged.terms:
        if verdict.effects and not np.any(term.is_trivial(readings)):
            effect = next(needed)
            yield effect.label, bool(effect.holds)
        else:  # no value could fail it, or nothing was weighed
            yield term.label, bool(verdict.effects)


def _readings(verdict: Verdict, seeds: int) -> Readings:
    """Return the values of each side of a finding over the first seeds."""
    return {side: np.asarray(side.values(seeds), dtype=float) for side in verdict.judged.sides}
