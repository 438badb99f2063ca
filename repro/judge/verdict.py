"""The verdict on a statement: its outcome, and everything needed to check it by hand."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from repro.judge import explain
from repro.judge.boundary import level_of
from repro.judge.effect import Effect, Sample
from repro.judge.ranking import Ranking
from repro.judge.statistic import STUDENT, Statistic


class Outcome(StrEnum):
    """The four things that can become of a statement."""

    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


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
    """The number of the source that the measured one is held against, if the statement has one."""
    effects: tuple[Effect, ...] = ()
    seeds: int = 0
    looks: tuple[int, ...] = ()
    level: float = 0.0
    """The chance of a false verdict, both directions together."""
    ranking: Ranking | None = None
    """The agreement of the measured order, where the statement claims an order."""
    deciding_p: float = 1.0
    """The p that met its boundary, of the comparison that settled the statement.

    That is the weakest one if it is reproduced, and the one most clearly against if refuted.
    """
    shared_by: int = 1
    """The number of comparisons that share the level, any of which would have settled it."""
    statistic: Statistic = STUDENT
    """The statistic that `deciding_p` belongs to."""
    reason: str = ""
    """The reason that there is no verdict, where it is not the evidence."""
    advice: str = ""
    """The seeds that would settle an inconclusive statement, in words."""
    parts: tuple[Verdict, ...] = ()
    """The verdicts that this one joins."""

    @classmethod
    def not_run(cls, statement: str, *, reason: str) -> Verdict:
        """The verdict on a statement that could not be judged here, and what it needs.

        >>> print(Verdict.not_run("bp exceeds dfa", reason="needs a GPU"))
        NOT RUN: bp exceeds dfa
          needs a GPU
        """
        return cls(outcome=Outcome.NOT_RUN, statement=statement, reason=reason)

    @cached_property
    def p(self) -> float:
        """The smallest level at which these looks would have settled it like this; 1 if open.

        It is at most `level` exactly where the verdict is settled. A true null has a p of at most q
        with chance q at most, however often one looked. A conjunction is reproduced when all parts
        are (the largest p counts), and refuted when any is (Bonferroni).
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
        return tuple((side.label, side.mean) for side in self.samples if not side.is_fixed)

    @property
    def weakest(self) -> Effect | None:
        """The needed comparison that is least far past its bound, if any was judged."""
        effects = [effect for effect in self.effects if effect.needed]
        return min(effects, key=lambda effect: effect.distance, default=None)

    @property
    def measured(self) -> str:
        """The deciding comparison as text, short enough for a table."""
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
        """The explanation, in a few lines of at most 80 columns."""
        title = explain.wrap(f"{self.outcome.upper()}: {self.statement}", indent="")
        if self.parts:
            # The parts that keep a conjunction from being reproduced, or all of them if it is.
            narrow = [part for part in self.parts if not part] or self.parts
            parts = [textwrap.indent(str(part), "  ") for part in narrow]
            return "\n".join((title, *parts, explain.wrap(f"joint level: {100 * self.level:.2g}%")))
        lines = []
        if self.means:
            means = ", ".join(f"{label} {mean:.4g}" for label, mean in self.means)
            lines.append(f"means: {means}")
        lines += explain.effects(self.effects)
        if self.ranking:
            lines += explain.ranking(self.ranking)
        if self.effects:
            lines += [self._budget(), *explain.quality(self.effects)]
        lines += [line for line in (self.reason, self.advice) if line]
        return "\n".join((title, *map(explain.wrap, lines)))

    def _budget(self) -> str:
        """The seeds that were used, and what the intervals stand for."""
        if not any(effect.has_spread for effect in self.effects):
            return (
                f"exact: does not depend on the seed (read off at {self.seeds} seeds); "
                f"{self.scale} scale"
            )
        looks = ", ".join(map(str, self.looks))
        examples = max((sample.examples for sample in self.samples), default=0)
        counted = f"; the error of having {examples} examples is counted" if examples else ""
        return (
            f"{self.seeds} seeds (looks at {looks}); {100 * (1 - self.level):g}% intervals over "
            f"all looks; {self.scale} scale{counted}"
        )


def conjunction(*verdicts: Verdict) -> Verdict:
    """Join verdicts into the one that all of them hold: refuted if any is, reproduced if all are.

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
