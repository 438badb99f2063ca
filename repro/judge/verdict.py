"""The verdict on a statement: its outcome, and everything needed to check it by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from html import escape
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from repro.judge.contrast import Statement
from repro.judge.effect import Effect, Sample
from repro.judge.mistakes import NoLogic, require_findings

Found = TypeVar("Found")

_WIDTH = 80
_MOST_EFFECTS = 6


class Outcome(StrEnum):
    """The four things that can become of a statement."""

    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


@dataclass(eq=False)
class Findings(Generic[Found]):
    """The findings of a claim's test so far, in order, and those whose truth was asked.

    A test ends with an assert that fails, or with none. Whether that end is a verdict, or a slip of
    Python's logic (`assert not (a > b)`), shows in which findings were asked for their truth.
    """

    made: list[Found] = field(default_factory=list)
    asked: list[Found] = field(default_factory=list)
    """The findings whose truth was asked, by `assert` or by anything else, in order."""

    def add(self, finding: Found) -> Found:
        self.made.append(finding)
        return finding

    def replace(self, old: Sequence[Found], new: Found) -> Found:
        """Put a finding in the place of those that it joins."""
        self.made[:] = [finding for finding in self.made if not any(finding is o for o in old)]
        return self.add(new)


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
    def is_exact(self) -> bool:
        """True where nothing was inferred: what no seed can change was read off."""
        return bool(self.effects) and not any(e.has_spread or e.alike for e in self.effects)

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
        """The deciding comparison as text, short enough for a table; of an order, its pairs."""
        if not all(effect.needed for effect in self.effects):
            listed, against = (sum(getattr(e, s) for e in self.effects) for s in ("holds", "fails"))
            pairs = f"{listed} of {len(self.effects)} pairs as listed, {against} against"
            return f"{pairs}, {self.seeds} seeds"
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
        """Judge both as one statement, which has one level.

        An alternative has been judged at a level of its own, and is joined with it.
        """
        require_findings([other], Verdict)
        judge = self.judge
        if judge is None or judge is not other.judge:
            return all_of((self, other))
        if self.judged and other.judged:
            return judge.join((self, other))
        joined = replace(all_of((self, other)), judge=judge)
        found: Findings[Verdict] = judge.findings
        return found.replace((self, other), joined)

    __rand__ = __and__

    def __str__(self) -> str:
        """The explanation, in a few lines of at most 80 columns."""
        title = wrap(f"{self.outcome.upper()}: {self.statement}", indent="")
        if self.parts:
            parts = [textwrap.indent(str(part), "  ") for part in self._deciding]
            return "\n".join((title, *parts, wrap(f"joint level: {100 * self.level:.2g}%")))
        lines = []
        if self.means:
            lines.append("means: " + ", ".join(f"{label} {mean:.4g}" for label, mean in self.means))
        ordered = sorted(self.effects, key=lambda e: (e.holds, not e.fails, not e.needed))
        lines += map(str, ordered[:_MOST_EFFECTS])
        if rest := ordered[_MOST_EFFECTS:]:
            held = sum(effect.holds for effect in rest)
            lines.append(f"and {len(rest)} more comparisons, of which {held} hold")
        if self.effects:
            lines += [self._budget(), *self._quality()]
        lines += [line for line in (self.reason, self.advice) if line]
        return "\n".join((title, *map(wrap, lines)))

    @property
    def _deciding(self) -> Sequence[Verdict]:
        """The parts that keep a conjunction from being reproduced, or make an alternative so.

        All parts where there are none of these.
        """
        holding = [part.outcome is Outcome.REPRODUCED for part in self.parts]
        pairs = zip(self.parts, holding, strict=True)
        return [part for part, holds in pairs if holds is self.is_either] or self.parts

    def _budget(self) -> str:
        """The seeds that were used, and what the intervals stand for."""
        if self.is_exact:
            return f"exact: declared not to depend on the seed; {self.scale} scale"
        if not any(effect.has_spread for effect in self.effects):
            return f"{self.seeds} seeds, all the same; {self.scale} scale"
        looks = f"looks at {', '.join(map(str, self.looks))}" if self.looks else "one look"
        counted = {effect.counted: effect for effect in self.effects}
        seeds = next(iter(counted)) if len(counted) == 1 else f"{self.seeds} seeds"
        apart = "; samples that are not paired" if any(e.counts for e in self.effects) else ""
        examples = max((sample.examples for sample in self.samples), default=0)
        known = f"; the error of having {examples} examples is counted" if examples else ""
        intervals = f"{100 * (1 - self.level):g}% intervals"
        if any(effect.kind == "run" for effect in self.effects):  # the level of two sides
            intervals = f"{100 * (1 - self.level / 2):g}% prediction intervals"
        over = " over all looks" if self.looks else ""
        return f"{seeds} ({looks}); {intervals}{over}; {self.scale} scale{apart}{known}"

    def _quality(self) -> list[str]:
        """The power, the worth of the pairing, and what the tests take for granted."""
        lines, needed = [], [effect for effect in self.effects if effect.needed]
        with_spread = [effect for effect in needed if effect.has_spread]
        if with_spread:
            lines.append(max(with_spread, key=lambda e: abs(e.detectable - e.bound)).power)
        correlations = [effect.correlation for effect in needed if effect.correlation is not None]
        if correlations:
            low, high = f"{min(correlations):.2f}", f"{max(correlations):.2f}"
            lines.append(f"pairing: r = {low}" + (f" to {high}" if high != low else ""))
        kinds = {effect.kind for effect in with_spread}
        return lines + [line for kind, line in _TAKEN_FOR_GRANTED.items() if kind in kinds]

    def _repr_html_(self) -> str:
        """The verdict as a notebook shows it: its whole text is folded below its effects."""
        colours = {Outcome.REPRODUCED: "#1a7f37", Outcome.REFUTED: "#b3261e"}
        colour = colours.get(self.outcome, "#8a6100")
        outcome, statement = escape(self.outcome.upper()), escape(self.statement)
        title = f'<p><b style="color:{colour}">{outcome}</b> {statement}</p>'
        rows = "".join(f"<li>{escape(str(effect))}</li>" for effect in self.effects)
        whole = f"<details><summary>evidence</summary><pre>{escape(str(self))}</pre></details>"
        return f"<div>{title}<ul>{rows}</ul>{whole}</div>"


_TAKEN_FOR_GRANTED = {
    "run": (
        "it takes the runs of the source to spread as much as these do, and both to be normal: "
        "where runs are skewed or some collapse, up to 5% of exact replicas are refuted"
    ),
    "spread": (
        "this test takes the values for normal over seeds: for heavy-tailed ones it errs some "
        "ten times as often as stated, and few seeds do not show it"
    ),
}


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


def any_of(parts: Sequence[Verdict]) -> Verdict:
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
    p = 1.0 if outcome is Outcome.INCONCLUSIVE else p
    joined = _together(parts, " or ", outcome)
    return replace(joined, is_either=True, level=parts[0].level, p=p)


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """Join verdicts into the one that all of them hold: refuted if any is, reproduced if all are.

    Each part was judged at its own level, so the joint level is their sum, and what is refuted has
    Bonferroni's p.
    """
    parts = [part for verdict in verdicts for part in _parts_of_all(verdict)]
    outcomes = [part.outcome for part in parts]
    if not parts:
        raise ValueError("there is no finding to join")
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


def wrap(line: str, indent: str = "  ") -> str:
    """Break a line into several of at most 78 columns, so that nested ones stay within 80."""
    width = _WIDTH - 2
    if len(indent) + len(line) <= width and line.isprintable() and line[-1:].strip():
        return indent + line  # as textwrap would, which takes its time
    return textwrap.fill(
        line,
        width=width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )
