"""The verdict on a statement: its outcome, and all numbers to check it by hand."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from repro.judge.contrast import Statement
from repro.judge.effect import Effect, EffectSize, Sample
from repro.judge.mistakes import NoLogic, require_finding

Found = TypeVar("Found")

_WIDTH = 80
_MOST_EFFECTS = 6


class Outcome(StrEnum):
    """The four possible outcomes of a claim."""

    REPRODUCED = "reproduced"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


@dataclass(eq=False)
class Findings(Generic[Found]):
    """The findings of a claim's test so far, in order, and the findings that were asserted.

    A test may end with a failed assert or without one. The asserted findings show whether this end
    is a verdict, or a slip such as `assert not (a > b)`.
    """

    made: list[Found] = field(default_factory=list)
    asserted: list[Found] = field(default_factory=list)
    """The findings whose truth value was read, by `assert` or otherwise, in order."""

    def add(self, finding: Found) -> Found:
        self.made.append(finding)
        return finding

    def replace(self, old: Sequence[Found], new: Found) -> Found:
        """Replace the findings that a new finding joins."""
        self.made[:] = [finding for finding in self.made if not any(finding is o for o in old)]
        return self.add(new)


class Judges(Protocol):
    """The part of a judge that a verdict needs."""

    @property
    def findings(self) -> Findings[Any]: ...
    def join(self, verdicts: Sequence[Verdict], /) -> Verdict: ...


class Beyond(StrEnum):
    """The reason why no number of seeds would settle a statement."""

    NONE = ""
    EXAMPLES = "more examples would say, more seeds would not"
    RUNS = "the source has too few runs to say"
    SIZE = "this size cannot say within 200 seeds"


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
    """The number of the source that the measured value is compared with, if there is one."""
    effects: tuple[Effect, ...] = ()
    seeds: int = 0
    looks: tuple[int, ...] = ()
    """The numbers of seeds at which to look; empty for one look at all existing runs."""
    level: float = 0.0
    """The chance of a false verdict, both directions together."""
    at_any_time: bool = False
    """True where one may look after each run, as often as one likes."""
    p: float = 1.0
    """The smallest level at which these looks would have given this verdict; 1 if open."""
    reason: str = ""
    """Why the values cannot be judged, such as equal values on every seed; usually empty."""
    repeats: tuple[str, ...] = ()
    """Sentences on arms with runs that repeat others."""
    copies: tuple[str, ...] = ()
    """Sentences of `repeats` on arms whose runs no floor or ceiling explains."""
    states: tuple[str, ...] = ()
    """Sentences on runs that look otherwise than the test assumes: in two states, or in spread."""
    advice: str = ""
    """The seeds that would settle an inconclusive statement, in words."""
    beyond: Beyond = Beyond.NONE
    """The reason why no number of seeds would settle an inconclusive statement."""
    judge: Judges = field(repr=False, compare=False)
    """The judge of this verdict, which can join it with others."""
    judged: Statement = field(repr=False, compare=False)
    """The judged statement."""

    @property
    def is_exact(self) -> bool:
        """True where the verdict rests on no inference, since no seed can change the values."""
        return bool(self.effects) and not any(e.has_spread or e.is_constant for e in self.effects)

    @property
    def weakest(self) -> Effect | None:
        """The needed comparison with the smallest distance past its bound; None without one."""
        needed = (effect for effect in self.effects if effect.needed)
        return min(needed, key=lambda effect: effect.distance, default=None)

    @property
    def measured(self) -> str:
        """The deciding comparison as text for a table; for a ranking, the counts of its pairs.

        Without a sample it is the question why; runs that repeat others are named.
        """
        weakest = self.weakest
        if self.outcome is Outcome.INCONCLUSIVE and self.reason:
            return "; ".join((self.reason, *self.repeats))
        if weakest is None:
            return ""
        if not all(effect.needed for effect in self.effects):
            listed, against = (sum(getattr(e, s) for e in self.effects) for s in ("holds", "fails"))
            pairs = f"{listed} of {len(self.effects)} pairs as listed, {against} against"
            return "; ".join((f"{pairs}, {self.seeds} {weakest.word}", *self.repeats))
        shown = f"{weakest.label} = {weakest.amount}{weakest.claimed}"
        is_exact = not (weakest.has_spread or weakest.is_constant)  # one run is enough
        if is_exact and weakest.kind != "print":
            return shown
        parts = (f"{shown}, {weakest.counted}", weakest.beside_documented, *self.repeats)
        return "; ".join(filter(None, parts))

    @property
    def effect_size(self) -> EffectSize:
        """The second word of the verdict; empty where the claim has no documented effect."""
        return self.weakest.effect_size if self.weakest else EffectSize.NONE

    def __bool__(self) -> bool:
        self.judge.findings.asserted.append(self)
        return self.outcome is Outcome.REPRODUCED

    def __eq__(self, other: object) -> bool:
        require_finding(other, Verdict)
        compared = [each.name for each in fields(self) if each.compare]
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    __hash__ = object.__hash__

    def __and__(self, other: Verdict) -> Verdict:
        """Judge both as one statement, with one level."""
        require_finding(other, Verdict)
        if other.judge is not self.judge:
            raise ValueError("& joins findings of one claim: assert those of another by themselves")
        return self.judge.join((self, other))

    __rand__ = __and__

    @property
    def manner(self) -> str:
        """How it was judged, in a few words: pairs, spread, looks and level."""
        apart = any(effect.counts for effect in self.effects)
        words = ["unpaired" if apart else ""]
        words += ["one spread"] if any(effect.is_pooled for effect in self.effects) else []
        words += ["at any time"] if self.at_any_time else []
        words += ["exact" if self.is_exact else f"level {50 * self.level:.3g} %"]
        return ", ".join(filter(None, words))

    def __repr__(self) -> str:
        """The verdict in one line.

        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> deep.accuracy > shallow.accuracy
        <reproduced: deep - shallow = ..., 5 seeds, level 0.5 %>
        """
        return f"<{self.outcome}: {self.measured or self.statement}, {self.manner}>"

    def __str__(self) -> str:
        """The explanation, in a few lines of at most 80 columns."""
        return self.text()

    def text(self, *, most: int | None = _MOST_EFFECTS) -> str:
        """Return the explanation; `most=None` has all comparisons of a long list.

        >>> deep, medium, shallow = trials(DEEP, MEDIUM, SHALLOW)
        >>> verdict = deep.accuracy > shallow.accuracy
        >>> verdict.text(most=None) == str(verdict)
        True
        """
        title = wrap(f"{self.outcome.upper()}: {self.statement}", indent="")
        lines, measured = [], [sample for sample in self.samples if not sample.is_fixed]
        if measured:
            digits = self._digits
            means = (f"{s.label} {s.mean:.{digits}g}" for s in measured)
            lines.append(f"means: {', '.join(means)}")
        ordered = sorted(self.effects, key=lambda e: (e.holds, not e.fails, not e.needed))
        lines += map(str, ordered[:most])
        if rest := ordered[len(ordered) if most is None else most :]:
            held = sum(effect.holds for effect in rest)
            lines.append(f"and {len(rest)} more comparisons, of which {held} hold")
        if self.weakest and self.weakest.documented is not None:
            lines.append(
                f"beside the source, whose error is counted: {self.weakest.beside_documented}"
            )
        if self.effects:
            lines += [self._budget(), *self._quality()]
        lines += [x for x in (self.reason, *self.repeats, *self.states, self.advice) if x]
        return "\n".join((title, *map(wrap, lines)))

    @property
    def _digits(self) -> int:
        """The digits of means that show an effect as exactly as its interval; four at least."""
        widths = [e.high - e.low for e in self.effects if e.unit != "ratio" and e.has_spread]
        largest = max((abs(s.mean) for s in self.samples if not s.is_fixed), default=0.0)
        finest = min((width for width in widths if width > 0), default=0.0)
        if not (finest and largest):
            return 4
        return min(max(4, math.floor(math.log10(largest)) - math.floor(math.log10(finest)) + 2), 15)

    def _budget(self) -> str:
        """The used seeds, and the level of the intervals."""
        if self.is_exact and any(effect.kind == "print" for effect in self.effects):
            return f"exact: read off {self.effects[0].counted}"
        if self.is_exact:
            return f"exact: declared not to depend on the seed; {self.scale} scale"
        if not any(effect.has_spread for effect in self.effects):
            return f"{self._counted}, all the same; {self.scale} scale"
        if all(effect.is_constant for effect in self.effects):
            return f"{self._counted}, which are no sample; {self.scale} scale"
        looks = f"looks at {', '.join(map(str, self.looks))}" if self.looks else "one look"
        looks = "looks at any time" if self.at_any_time else looks
        counted = {effect.counted: effect for effect in self.effects}
        seeds = next(iter(counted)) if len(counted) == 1 else self._counted
        apart = "; samples that are not paired" if any(e.counts for e in self.effects) else ""
        apart += " and have one spread" if any(e.is_pooled for e in self.effects) else ""
        examples = max((effect.examples for effect in self.effects), default=0)
        known = f"; the error of having {examples} examples is counted" if examples else ""
        intervals = f"{100 * (1 - self.level):g}% intervals"
        if any(effect.kind == "run" for effect in self.effects):  # the level of two sides
            intervals = f"{100 * (1 - self.level / 2):g}% prediction intervals"
        over = " over all looks" if self.looks or self.at_any_time else ""
        return f"{seeds} ({looks}); {intervals}{over}; {self.scale} scale{apart}{known}"

    @property
    def _counted(self) -> str:
        return f"{self.seeds} {self.effects[0].word}"

    def _quality(self) -> list[str]:
        """The correlation of paired sides, and what the tests take for granted."""
        needed = [effect for effect in self.effects if effect.needed]
        rs = sorted(effect.correlation for effect in needed if effect.correlation is not None)
        worth = " to ".join(dict.fromkeys(f"{r:.2f}" for r in rs[:1] + rs[-1:]))
        kinds = {effect.kind for effect in needed if effect.has_spread}
        taken = [_TAKEN_FOR_GRANTED] if "run" in kinds else []
        return [f"pairing: r = {worth}", *taken] if rs else taken


_TAKEN_FOR_GRANTED = (
    "it takes the runs of the source to spread as much as these do, and both to be normal: "
    "where runs are skewed or some collapse, up to 5% of exact replicas are refuted"
)


def p_of_all(verdicts: Sequence[Verdict]) -> float:
    """Return the p of several findings together: the largest one; an open finding has p = 1.

    If any finding is refuted, the joint p is the smallest p of a refuted one times the number of
    findings (Bonferroni).
    """
    refuted = [verdict.p for verdict in verdicts if verdict.outcome is Outcome.REFUTED]
    if refuted:
        return min(1.0, len(verdicts) * min(refuted))
    return max(verdict.p for verdict in verdicts)


def wrap(line: str, indent: str = "  ") -> str:
    """Break a line into lines of at most 78 columns, so that nested lines stay within 80."""
    width = _WIDTH - 2
    if len(indent) + len(line) <= width and line.isprintable() and line[-1:].strip():
        return indent + line  # the same result as textwrap.fill, which is slow
    return textwrap.fill(
        line,
        width=width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )
