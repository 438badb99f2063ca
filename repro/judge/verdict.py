"""The verdict on a statement: its outcome, and everything needed to check it by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import islice
from typing import Any, Protocol

from repro.judge import explain, html
from repro.judge.effect import Effect, Sample
from repro.judge.findings import Findings
from repro.judge.mistakes import NoLogic, require_findings
from repro.judge.ranking import Ranking
from repro.judge.terms import Statement


class Outcome(StrEnum):
    """The four things that can become of a statement."""

    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


class Judges(Protocol):
    """The part of a judge that a verdict needs."""

    @property
    def findings(self) -> Findings[Any]: ...
    def join(self, verdicts: Sequence[Verdict], /) -> Verdict: ...
    def either(self, verdicts: Sequence[Verdict], /) -> Verdict: ...


@dataclass(frozen=True, kw_only=True)
class Verdict(NoLogic):
    """The outcome of a statement and its evidence; true only if it was reproduced.

    Do not write `assert not (a > b)`: an undecided comparison would pass. Claim `a < b`, or
    `a.is_within(margin, of=b)`. `&` makes one statement of two.

    >>> deep, medium, shallow = trials(DEEP, MEDIUM, SHALLOW)
    >>> assert (deep.accuracy > medium.accuracy) & (medium.accuracy > shallow.accuracy)
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
    """The numbers of seeds to look at; empty where there is one look, at all there are."""
    level: float = 0.0
    """The chance of a false verdict, both directions together."""
    ranking: Ranking | None = None
    """The agreement of the measured order, where the statement claims an order."""
    p: float = 1.0
    """The smallest level at which these looks would have settled it like this; 1 if open."""
    reason: str = ""
    """The reason that there is no verdict, where it is not the evidence."""
    advice: str = ""
    """The seeds that would settle an inconclusive statement, in words."""
    wanted: int | None = None
    """The seeds of each arm with which it would probably be settled; None where none would do."""
    parts: tuple[Verdict, ...] = ()
    """The verdicts that this one joins."""
    is_either: bool = False
    """True where one of its parts is enough, and not all are needed."""
    judge: Judges | None = field(default=None, repr=False, compare=False)
    """The judge that decided it, and can judge it together with others."""
    judged: Statement | None = field(default=None, repr=False, compare=False)
    """The statement that was decided."""

    @classmethod
    def not_run(cls, statement: str, *, reason: str) -> Verdict:
        """The verdict on a statement that could not be judged here, and what it needs.

        >>> print(Verdict.not_run("bp exceeds dfa", reason="needs a GPU"))
        NOT RUN: bp exceeds dfa
          needs a GPU
        """
        return cls(outcome=Outcome.NOT_RUN, statement=statement, reason=reason)

    @property
    def means(self) -> tuple[tuple[str, float], ...]:
        """Each measured side and its plain mean over the seeds used."""
        return tuple((side.label, side.mean) for side in self.samples if not side.is_fixed)

    @property
    def weakest(self) -> Effect | None:
        """The needed comparison that is least far past its bound, if any was judged.

        Of an alternative, that of the part which comes closest to being reproduced.
        """
        if self.is_either:
            effects = iter(self.effects)
            weakest = [_weakest(list(islice(effects, len(part.effects)))) for part in self.parts]
            found = [effect for effect in weakest if effect is not None]
            return max(found, key=lambda effect: effect.distance, default=None)
        return _weakest(self.effects)

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
        elif not weakest.alike:
            return shown  # exact: one run says it
        return f"{shown}, {weakest.counted}"

    def __bool__(self) -> bool:
        if self.judge is not None:
            self.judge.findings.asked.append(self)
        return self.outcome is Outcome.REPRODUCED

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            raise TypeError(
                f"A verdict is compared with {other!r}: assert the finding itself, or read its "
                "`outcome`."
            )
        compared = [each.name for each in fields(self) if each.compare]
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    __hash__ = object.__hash__

    def __and__(self, other: Verdict) -> Verdict:
        """Judge both as one statement, which has one level."""
        require_findings([other], Verdict)
        judge = self.judge
        if judge is not None and judge is other.judge and self.judged and other.judged:
            return judge.join((self, other))
        return conjunction(self, other)

    __rand__ = __and__

    def __str__(self) -> str:
        """The explanation, in a few lines of at most 80 columns."""
        title = explain.wrap(f"{self.outcome.upper()}: {self.statement}", indent="")
        if self.parts:
            parts = [textwrap.indent(str(part), "  ") for part in self._deciding]
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

    @property
    def _deciding(self) -> Sequence[Verdict]:
        """The parts that keep a conjunction from being reproduced, or make an alternative so.

        All parts where there are none of these.
        """
        holding = [part.outcome is Outcome.REPRODUCED for part in self.parts]
        pairs = zip(self.parts, holding, strict=True)
        return [part for part, holds in pairs if holds is self.is_either] or self.parts

    def _repr_html_(self) -> str:
        """The verdict as a notebook shows it."""
        return html.verdict(self.outcome.value, self.statement, str(self), self.effects)

    def _budget(self) -> str:
        """The seeds that were used, and what the intervals stand for."""
        if not any(effect.has_spread for effect in self.effects):
            if any(effect.alike for effect in self.effects):
                return f"{self.seeds} seeds, all the same; {self.scale} scale"
            return f"exact: declared not to depend on the seed; {self.scale} scale"
        looks = f"looks at {', '.join(map(str, self.looks))}" if self.looks else "one look"
        counted = {effect.counted: effect for effect in self.effects}
        seeds = next(iter(counted)) if len(counted) == 1 else f"{self.seeds} seeds"
        apart = "; samples that are not paired" if any(e.counts for e in self.effects) else ""
        examples = max((sample.examples for sample in self.samples), default=0)
        known = f"; the error of having {examples} examples is counted" if examples else ""
        over = " over all looks" if self.looks else ""
        return f"{seeds} ({looks}); {self._intervals()}{over}; {self.scale} scale{apart}{known}"

    def _intervals(self) -> str:
        """Return the intervals' level and kind, in words."""
        if any(effect.kind == "run" for effect in self.effects):  # it is left on two sides
            return f"{100 * (1 - self.level / 2):g}% prediction intervals"
        return f"{100 * (1 - self.level):g}% intervals"


def _weakest(effects: Sequence[Effect]) -> Effect | None:
    needed = [effect for effect in effects if effect.needed]
    return min(needed, key=lambda effect: effect.distance, default=None)


def either(*verdicts: Verdict) -> Verdict:
    """Judge whether at least one of several findings holds: one level, shared among them.

    Reproduced if any of them is, refuted if all are. An `or` between findings is no such claim:
    each of them would have a level of its own.

    >>> deep, medium, shallow = trials(DEEP, MEDIUM, SHALLOW)
    >>> is_worst = either(
    ...     shallow.accuracy > deep.accuracy, shallow.perplexity > medium.perplexity
    ... )
    >>> assert is_worst
    """
    require_findings(verdicts, Verdict)
    first = verdicts[0].judge if verdicts else None
    if len(verdicts) < 2 or first is None:
        raise ValueError("either(...) needs at least two findings of one claim")
    if any(verdict.judge is not first or verdict.judged is None for verdict in verdicts):
        raise ValueError("either(...) takes findings of one claim, each a single statement")
    return first.either(verdicts)


def alternative(parts: Sequence[Verdict]) -> Verdict:
    """Join verdicts that were judged as ways to one claim: reproduced if any is, refuted if all."""
    outcomes = [part.outcome for part in parts]
    if Outcome.REPRODUCED in outcomes:
        outcome = Outcome.REPRODUCED
    elif set(outcomes) == {Outcome.REFUTED}:
        outcome = Outcome.REFUTED
    else:
        outcome = Outcome.INCONCLUSIVE
    settled = [part.p for part in parts if part.outcome is outcome]
    p = min(settled, default=1.0) if outcome is Outcome.REPRODUCED else max(settled, default=1.0)
    return replace(
        _together(parts, " or ", outcome),
        is_either=True,
        level=parts[0].level,
        p=1.0 if outcome is Outcome.INCONCLUSIVE else p,
    )


def conjunction(*verdicts: Verdict) -> Verdict:
    """Join verdicts into the one that all of them hold: refuted if any is, reproduced if all are.

    Each part was judged at its own level, so the joint level is their sum, and a conjunction that
    is refuted has Bonferroni's p. One statement with several terms (a ladder, or `a & b`) is the
    sharper tool.

    >>> deep, shallow = trials(DEEP, SHALLOW)
    >>> assert conjunction(
    ...     deep.accuracy > shallow.accuracy, deep.perplexity < shallow.perplexity
    ... )
    """
    require_findings(verdicts, Verdict)
    joined = all_of(verdicts)
    judge = verdicts[0].judge
    if judge is None or any(verdict.judge is not judge for verdict in verdicts):
        return joined
    findings: Findings[Verdict] = judge.findings
    return findings.replace(verdicts, replace(joined, judge=judge))


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """Join verdicts into the one that all of them hold, without telling their judge."""
    parts = [part for verdict in verdicts for part in _parts_of_all(verdict)]
    outcomes = [part.outcome for part in parts]
    if not parts:
        raise ValueError("a conjunction needs at least one verdict")
    p = 1.0
    if Outcome.REFUTED in outcomes:
        outcome = Outcome.REFUTED
        p = len(parts) * min(part.p for part in parts if part.outcome is outcome)
    elif Outcome.NOT_RUN in outcomes:
        outcome = Outcome.NOT_RUN
    elif Outcome.INCONCLUSIVE in outcomes:
        outcome = Outcome.INCONCLUSIVE
    else:
        outcome = Outcome.REPRODUCED
        p = max(part.p for part in parts)
    joined = _together(parts, ", and ", outcome)
    return replace(joined, p=min(1.0, p), level=sum(part.level for part in parts))


def _parts_of_all(verdict: Verdict) -> Sequence[Verdict]:
    """Return the parts of a conjunction; anything else, an alternative too, is one part."""
    return verdict.parts if verdict.parts and not verdict.is_either else [verdict]


def _together(parts: Sequence[Verdict], word: str, outcome: Outcome) -> Verdict:
    samples = tuple(dict.fromkeys(sample for part in parts for sample in part.samples))
    place = {sample: i for i, sample in enumerate(samples)}
    return Verdict(
        outcome=outcome,
        statement=word.join(part.statement for part in parts),
        scale=", ".join(dict.fromkeys(part.scale for part in parts if part.scale)),
        samples=samples,
        effects=tuple(
            replace(effect, sides=tuple(place[part.samples[side]] for side in effect.sides))
            for part in parts
            for effect in part.effects
        ),
        seeds=max(part.seeds for part in parts),
        looks=max((part.looks for part in parts), key=len),
        reason="; ".join(dict.fromkeys(part.reason for part in parts if part.reason)),
        advice="; ".join(dict.fromkeys(part.advice for part in parts if part.advice)),
        parts=tuple(parts),
    )
