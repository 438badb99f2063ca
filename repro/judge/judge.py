"""Decides statements: looks at some seeds, and at more of them only while undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from repro.judge import evidence
from repro.judge.effect import Effect, Sample
from repro.judge.evidence import MOST_SEEDS, Evidence, seeds_needed, settle, to_fail, to_hold
from repro.judge.looks import Design, OneLook
from repro.judge.scale import Array, ScaleError
from repro.judge.terms import Context, Readings, Side, Statement, Term
from repro.judge.verdict import Findings, Outcome, Verdict, any_of


@dataclass
class Judge:
    """Decides statements by one design, and keeps the verdicts in the order they fell."""

    design: Design
    findings: Findings[Verdict] = field(default_factory=Findings)

    @property
    def verdicts(self) -> list[Verdict]:
        return self.findings.made

    def decide(self, statement: Statement) -> Verdict:
        """Judge a statement, as the methods of `Measured`, `Gain`, `Ladder` and `Curve` do."""
        return self.findings.add(self._decided(statement))

    def join(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Judge what several verdicts say together as one statement, in their place.

        They share its level then: any of them can refute it, and all of them together do so falsely
        no more often than one statement may.
        """
        statements = [v.judged for v in verdicts if v.judged is not None]
        together = Statement(
            ", and ".join(statement.text for statement in statements),
            tuple(term for statement in statements for term in statement.terms),
            tuple(term for statement in statements for term in statement.implied),
        )
        return self.findings.replace(verdicts, self._decided(together))

    def either(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Judge whether at least one of several verdicts holds, in their place."""
        statements = [v.judged for v in verdicts if v.judged is not None]
        parts = [self._decided(statement, ways=len(statements)) for statement in statements]
        return self.findings.replace(verdicts, replace(any_of(parts), judge=self))

    def _decided(self, statement: Statement, *, ways: int = 1) -> Verdict:
        """Judge a statement; so many `ways`, of which it is one, would each be enough."""
        last = self.design.looks[-1]
        for seeds in self.design.looks:
            readings = {side: _read(side, seeds) for side in statement.sides}
            if reason := _not_finite(readings):
                verdict = _verdict(statement, self.design, readings)
                return replace(verdict, reason=reason, judge=self, judged=statement)
            look = look_at(statement, readings, self.design, ways=ways)
            is_settled = look.outcome is not Outcome.INCONCLUSIVE
            if is_settled or (seeds < last and look.is_hopeless):
                break
        return replace(look.verdict, judge=self, judged=statement)


@dataclass(frozen=True)
class Look:
    """The evidence for a statement at one number of seeds."""

    design: Design
    statement: Statement
    readings: Readings
    terms: Sequence[Term]
    """The terms that are needed, and after them those that are implied."""
    needed: Sequence[Evidence]
    implied: Sequence[Evidence]
    outcome: Outcome
    ways: int
    """The number of statements of which one is enough for a claim: they share the level."""

    @cached_property
    def every(self) -> Sequence[Evidence]:
        return [*self.needed, *self.implied]

    @property
    def is_hopeless(self) -> bool:
        """True where more seeds would hardly settle it."""
        return bool(evidence.is_hopeless(self.needed, self.implied, self.design))

    @property
    def p(self) -> float:
        """The smallest level at which these looks would have settled it like this; 1 if open.

        It is at most the level exactly where it is settled. A true null has a p of at most q with
        chance q at most, however often one looked.
        """
        level_at = self.design.level_at
        if self.outcome is Outcome.REPRODUCED:
            sides = [
                level_at(float(term.p_for), term.seeds, statistic=term.statistic_for)
                for term in self.needed
            ]
            return min(1.0, 2 * self.ways * max(sides))
        if self.outcome is Outcome.REFUTED:
            sides = [
                level_at(float(term.p_against), term.seeds, statistic=term.statistic_against)
                for term in self.every
                if not term.alike
            ]
            return min(1.0, 2 * sum(term.weight for term in self.every) * min(sides))
        return 1.0

    @property
    def verdict(self) -> Verdict:
        """The verdict with everything that is needed to check it by hand."""
        verdict = _verdict(self.statement, self.design, self.readings)
        effects, is_open = self._effects(), self.outcome is Outcome.INCONCLUSIVE
        wanted, advice = self._advice(effects) if is_open else (None, "")
        return replace(
            verdict,
            outcome=self.outcome,
            p=self.p,
            reason=self._all_alike(),
            advice=advice,
            wanted=wanted,
            effects=effects,
        )

    def _effects(self) -> tuple[Effect, ...]:
        place = {side: i for i, side in enumerate(self.readings)}
        holds = to_hold(self.every, self.design, ways=self.ways)
        fails = to_fail(self.every, self.design)
        effects: list[Effect] = []
        for term, weighed, hold, fail in zip(self.terms, self.every, holds, fails, strict=True):
            context = Context(self.design, len(self.needed), hold, fail)
            effect = term.describe(weighed, self.readings, context)
            sides = tuple(place[side] for side in term.sides)
            effects.append(replace(effect, sides=sides, needed=len(effects) < len(self.needed)))
        return tuple(effects)

    def _all_alike(self) -> str:
        """Ask what may be behind seeds that all gave the same; empty where none did."""
        alike = [t for t, weighed in zip(self.terms, self.every, strict=True) if weighed.alike]
        if not alike:
            return ""
        term = alike[0]
        measured = [side for side in term.sides if not side.is_fixed]
        values = [self.readings[side] for side in measured]
        names = " and ".join(dict.fromkeys(side.label for side in measured))
        exact = "(A metric that no seed can change is declared with exact=True.)"
        if len(measured) == 1:
            return (
                f"every seed gave {float(values[0][0]):.6g} for {names}: does the training use its"
                f" seed, or is this a floor or a ceiling? {exact}"
            )
        if all(np.array_equal(each, values[0]) for each in values):
            return (
                f"{names} are alike on every seed: does the setting that tells them apart reach "
                "the training, or is this a floor or a ceiling?"
            )
        return (
            f"every seed gave the same difference of {names}: does the training use its seed? "
            f"{exact}"
        )

    def _advice(self, effects: Sequence[Effect]) -> tuple[int | None, str]:
        """Return how many seeds have 80 % power, were effect and spread as they look, in words too.

        A term that points the wrong way can refute the statement by itself; otherwise the statement
        waits for the slowest of its open terms.
        """
        if any(effect.alike for effect in effects):
            return None, ""
        judged = list(zip(self.every, effects, strict=True))
        wrong = [pair for pair in judged if pair[1].distance < 0]
        open_ = [pair for pair in judged if pair[1].needed and not pair[1].holds]
        if wrong:
            one_sided = [0.5 if e.kind == "run" else 1.0 for _, e in wrong]
            needed = [
                seeds_needed(w, side * e.p_against, side * e.boundary_against)
                for side, (w, e) in zip(one_sided, wrong, strict=True)
            ]
        else:
            needed = [seeds_needed(w, e.p_for, e.boundary) for w, e in open_]
        enough = [seeds for seeds in needed if seeds is not None]
        given_up = self._given_up()
        if not enough or (not wrong and len(enough) < len(needed)):
            return None, given_up + _why_none(wrong or open_)
        seeds = min(enough) if wrong else max(enough)
        would = f"{given_up}~{seeds} seeds would {'refute' if wrong else 'reproduce'} it with 80%"
        if isinstance(self.design, OneLook):
            more = max(1, seeds - min(effect.seeds for effect in effects))
            return seeds, (
                f"{would} power, {more} more of each arm, if this effect and spread are the true"
                " ones (they are a second look, and cost what looks=… says)"
            )
        return seeds, (
            f"{would} power, if this effect and spread are the true ones (new seeds: a budget"
            " extended after looking does not keep its level)"
        )

    def _given_up(self) -> str:
        """Say why there were no more looks; empty where the last one was reached."""
        seeds, last = self.needed[0].seeds, self.design.looks[-1]
        if seeds == last or isinstance(self.design, OneLook):
            return ""
        return (
            f"given up after {seeds} of {last} seeds: the others would have settled it with a "
            f"chance below {self.design.futility:.0%}; "
        )


def look_at(statement: Statement, readings: Readings, design: Design, *, ways: int = 1) -> Look:
    """Weigh the terms of a statement, all but those that nothing could fail."""
    needed = [term for term in statement.terms if not term.is_trivial(readings)]
    if not needed:
        raise ScaleError(
            f"{statement.text}: no measured value could fail this, since the bound lies beyond "
            "what the metric can be; claim a smaller margin"
        )
    weighed = [_weighed(term, readings) for term in needed]
    implied = [_weighed(term, readings) for term in statement.implied]
    reproduced, refuted = settle(weighed, implied, design, ways=ways)
    outcome = Outcome.INCONCLUSIVE
    if reproduced or refuted:
        outcome = Outcome.REPRODUCED if reproduced else Outcome.REFUTED
    terms = (*needed, *statement.implied)
    return Look(design, statement, readings, terms, weighed, implied, outcome, ways)


def _weighed(term: Term, readings: Readings) -> Evidence:
    """Weigh a term; of sides whose runs repeat there is one run each, and no evidence.

    The floor of half an example would make a spread of them.
    """
    weighed = term.weigh(readings)
    measured = [side for side in term.sides if not (side.is_fixed or side.is_exact)]
    repeat = [getattr(side, "repeats", None) for side in measured]
    is_one_run = bool(measured) and all(
        each is not None and len(readings[side]) > 1 and each(len(readings[side]))
        for side, each in zip(measured, repeat, strict=True)
    )
    return replace(weighed, alike=True) if is_one_run else weighed


def _why_none(judged: Sequence[tuple[Evidence, Effect]]) -> str:
    """Say why no number of seeds would settle it."""
    if any(w.examples and w.fixed_variance > w.over_seeds / w.seeds for w, _ in judged):
        return (
            "most of the error comes from the examples, which all seeds were measured on: more"
            " examples would settle it, more seeds would not"
        )
    if any(effect.kind == "run" for _, effect in judged):
        return (
            f"{MOST_SEEDS} seeds would not settle it: what the source printed is as uncertain as"
            " its own few runs, whatever is run here"
        )
    return f"the effect is indistinguishable from the bound: more than {MOST_SEEDS} seeds"


def _read(side: Side, seeds: int) -> Array:
    values = np.asarray(side.values(seeds), dtype=np.float64)
    is_whole = values.ndim > 0 and (len(values) == seeds or (len(values) > 0 and side.pairing))
    if not is_whole:
        raise ValueError(
            f"{side.label} gave values of shape {values.shape} for {seeds} seeds: "
            "values(n) must return one number for each of the first n seeds"
        )
    return values


def _not_finite(readings: Readings) -> str:
    """Name the sides that have values which are not finite; empty where all are."""
    reasons = []
    for side, values in readings.items():
        broken = int((~np.isfinite(values)).sum())
        if broken:
            reasons.append(f"{side.label} has no finite value on {broken} of {len(values)} seeds")
    return "; ".join(reasons)


def _verdict(statement: Statement, design: Design, readings: Readings) -> Verdict:
    """Return the verdict on a statement before its evidence is weighed: that it is open."""
    samples = []
    for side, values in readings.items():
        examples = side.examples(len(values))
        count = 0 if examples is None else examples.shape[-1]
        samples.append(Sample(side.label, tuple(values.tolist()), side.is_fixed, count))
    return Verdict(
        outcome=Outcome.INCONCLUSIVE,
        statement=statement.text,
        scale=statement.scale,
        samples=tuple(samples),
        documented=statement.documented,
        seeds=max(len(values) for values in readings.values()),
        looks=() if isinstance(design, OneLook) else design.looks,
        level=design.level,
    )
