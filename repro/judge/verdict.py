"""What the judge hands back: the outcome, and everything needed to check it by hand."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Literal

from repro.judge import explain
from repro.judge.boundary import level_of
from repro.judge.ranking import Ranking
from repro.judge.shrinkage import Excess
from repro.judge.statistic import STUDENT, Statistic


class Outcome(StrEnum):
    """What became of a statement."""

    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Sample:
    """One side of a statement, and its value on each seed that was used, in their order."""

    label: str
    values: tuple[float, ...]
    is_fixed: bool = False
    """True for a number that a claim names, which is the same on every seed."""
    examples: int = 0
    """How many examples each value is the mean of, where their error is counted."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One comparison of a statement, at the look where the verdict fell.

    `estimate`, `low` and `high` are in the natural unit (`unit`), measured at the typical value of
    the right side. The interval is the one whose end touches the bound exactly when p touches the
    boundary; it holds over all looks together.
    """

    label: str
    unit: str
    bound: float
    below: bool
    estimate: float
    low: float
    high: float
    p_for: float
    p_against: float
    boundary: float
    boundary_against: float
    seeds: int
    distance: float
    """The distance past the bound: of a difference in standard deviations over seeds, of a spread
    as a logarithm; infinite where nothing depends on the seed."""
    excess: Excess | None = None
    """The distance of a difference as it was measured: mean, spread and seeds on the scale."""
    detectable: float
    """The effect that the whole budget finds with 80 % power, at the spread measured."""
    detectable_in_sd: float = 0.0
    """The same past the bound in standard deviations over seeds, for a difference."""
    correlation: float | None = None
    """Pearson's r of the two sides over seeds: what the pairing is worth."""
    skewed: bool
    needed: bool = True
    """False for comparisons that follow from the others: they can only refute."""
    kind: Literal["difference", "spread"] = "difference"
    sides: tuple[int, ...] = ()
    """Which samples of the verdict it compares, in the order of its label."""
    per_seed: tuple[float, ...] = ()
    """The same comparison on each seed alone; of a spread, the values themselves."""

    @property
    def holds(self) -> bool:
        return self.p_for <= self.boundary

    @property
    def fails(self) -> bool:
        return self.p_against <= self.boundary_against

    @property
    def has_spread(self) -> bool:
        """False where every seed gave the same difference, so that nothing had to be inferred."""
        return abs(self.distance) != float("inf")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of a statement and its evidence; true only if it was reproduced.

    Do not write `assert not (a > b)`: an undecided comparison would pass. Claim `a < b`, or
    `a.is_within(margin, of=b)`.
    """

    outcome: Outcome
    statement: str
    scale: str = ""
    samples: tuple[Sample, ...] = ()
    """Each side of the statement, over the seeds used."""
    documented: float | None = None
    """The number of the source that the statement holds the measured one against, if it is one."""
    effects: tuple[Effect, ...] = ()
    seeds: int = 0
    looks: tuple[int, ...] = ()
    level: float = 0.0
    """The chance of a false verdict, both directions together."""
    ranking: Ranking | None = None
    """How far the measured order agrees, where the statement claims an order."""
    deciding_p: float = 1.0
    """The p that met its boundary: of the weakest comparison if reproduced, of the one most clearly
    against if refuted."""
    shared_by: int = 1
    """The comparisons that share the level, any of which would have settled it."""
    statistic: Statistic = STUDENT
    """What the p was found by."""
    reason: str = ""
    """Why there is no verdict, where the evidence is not the reason."""
    advice: str = ""
    parts: tuple[Verdict, ...] = ()
    """The verdicts that this one joins."""

    @classmethod
    def not_run(cls, statement: str, *, reason: str) -> Verdict:
        """A statement that could not be judged here, and what it needs.

        >>> print(Verdict.not_run("bp exceeds dfa", reason="needs a GPU"))
        NOT RUN: bp exceeds dfa
          needs a GPU
        """
        return cls(outcome=Outcome.NOT_RUN, statement=statement, reason=reason)

    @cached_property
    def p(self) -> float:
        """The smallest `level` at which the same looks would have settled it so by now; 1 if open.

        It is at most `level` exactly where the verdict is settled. A true null comes out with p of
        at most q with chance q at most, however often one looked. A conjunction is reproduced
        when all parts are (the largest p counts), and refuted when any is (Bonferroni).
        """
        if self.parts and self.outcome is Outcome.REPRODUCED:
            return max(part.p for part in self.parts)
        if self.parts and self.outcome is Outcome.REFUTED:
            refuted = [part.p for part in self.parts if part.outcome is Outcome.REFUTED]
            return min(1.0, len(self.parts) * min(refuted))
        if self.outcome not in (Outcome.REPRODUCED, Outcome.REFUTED):
            return 1.0
        one_side = level_of(self.looks, self.deciding_p, self.statistic)
        return min(1.0, 2 * self.shared_by * one_side)

    @property
    def means(self) -> tuple[tuple[str, float], ...]:
        """Each measured side and its plain mean over the seeds used."""
        return tuple((each.label, each.mean) for each in self.samples if not each.is_fixed)

    @property
    def weakest(self) -> Effect | None:
        """The comparison that the statement hangs on, if any was judged."""
        effects = [effect for effect in self.effects if effect.needed]
        return min(effects, key=lambda effect: effect.distance, default=None)

    @property
    def measured(self) -> str:
        """The deciding comparison, short enough for a table."""
        if self.ranking:
            return f"{self.ranking}, {self.seeds} seeds"
        weakest = self.weakest
        if weakest is None:
            return ""
        shown = f"{weakest.label} = {weakest.estimate:.3g}"
        if weakest.has_spread:
            shown += f" [{weakest.low:.3g}, {weakest.high:.3g}]"
        return f"{shown}, {weakest.seeds} seeds"

    def __bool__(self) -> bool:
        return self.outcome is Outcome.REPRODUCED

    def __and__(self, other: Verdict) -> Verdict:
        return conjunction(self, other)

    def __str__(self) -> str:
        return explain.verdict(self)


def conjunction(*verdicts: Verdict) -> Verdict:
    """All of these hold: refuted if any is, reproduced if all are.

    Each part was judged at its own level, so the joint level is their sum. One statement with
    several terms (a ladder) is the sharper tool where there is a word for it.
    """
    parts = tuple(part for verdict in verdicts for part in (verdict.parts or (verdict,)))
    outcomes = [part.outcome for part in parts]
    if not parts:
        raise ValueError("a conjunction needs at least one verdict")
    if Outcome.REFUTED in outcomes:
        outcome = Outcome.REFUTED
    elif Outcome.NOT_RUN in outcomes:
        outcome = Outcome.NOT_RUN
    elif Outcome.INCONCLUSIVE in outcomes:
        outcome = Outcome.INCONCLUSIVE
    else:
        outcome = Outcome.REPRODUCED
    return Verdict(
        outcome=outcome,
        statement=", and ".join(part.statement for part in parts),
        scale=", ".join(dict.fromkeys(part.scale for part in parts if part.scale)),
        samples=tuple(dict.fromkeys(sample for part in parts for sample in part.samples)),
        effects=tuple(effect for part in parts for effect in part.effects),
        seeds=max(part.seeds for part in parts),
        looks=max((part.looks for part in parts), key=len),
        level=sum(part.level for part in parts),
        reason="; ".join(dict.fromkeys(part.reason for part in parts if part.reason)),
        advice="; ".join(dict.fromkeys(part.advice for part in parts if part.advice)),
        parts=parts,
    )
