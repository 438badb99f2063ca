"""Decides statements: looks at some seeds, and at more of them only while undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from repro.judge.design import Design, OneLook
from repro.judge.effect import Sample
from repro.judge.findings import Findings
from repro.judge.look import explained, look_at
from repro.judge.scale import Array
from repro.judge.terms import Readings, Side, Statement, joined
from repro.judge.verdict import Outcome, Verdict, alternative


@dataclass
class Judge:
    """Decides statements by one design, and keeps the verdicts in the order they fell.

    Without `explains` verdicts have an outcome but no effects, for a caller that only has to know
    whether more seeds are needed. With `until`, a settled verdict whose p is larger takes further
    looks: its outcome stays, and more seeds may make its p smaller.
    """

    design: Design
    explains: bool = True
    until: float = 1.0
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
        together = joined([v.judged for v in verdicts if v.judged is not None])
        return self.findings.replace(verdicts, self._decided(together))

    def either(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Judge whether at least one of several verdicts holds, in their place."""
        statements = [v.judged for v in verdicts if v.judged is not None]
        parts = [self._decided(statement, ways=len(statements)) for statement in statements]
        return self.findings.replace(verdicts, replace(alternative(parts), judge=self))

    def _decided(self, statement: Statement, *, ways: int = 1) -> Verdict:
        verdict = _decide(statement, self, ways=ways)
        return replace(verdict, judge=self, judged=statement)


def _decide(statement: Statement, judge: Judge, *, ways: int) -> Verdict:
    """Judge a statement; so many `ways`, of which it is one, would each be enough for a claim."""
    design, settled = judge.design, None
    for seeds in design.looks:
        readings = {side: _read(side, seeds) for side in statement.sides}
        broken = _not_finite(readings)
        if broken:
            return _verdict(statement, design, readings, Outcome.INCONCLUSIVE, reason=broken)
        look = look_at(statement, readings, design, ways=ways)
        if settled is None and look.outcome is Outcome.INCONCLUSIVE:
            if seeds < design.looks[-1] and look.is_hopeless:
                break
            continue
        if settled is None or (look.outcome is settled.outcome and look.p < settled.p):
            settled = look
        if judge.until == 1 or settled.p <= judge.until:
            break
    look = settled or look
    verdict = _verdict(statement, design, look.readings, look.outcome)
    return explained(verdict, statement, look) if judge.explains else verdict


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


def _sample(side: Side, values: Array) -> Sample:
    examples = side.examples(len(values))
    count = 0 if examples is None else examples.shape[-1]
    return Sample(side.label, tuple(values.tolist()), side.is_fixed, count)


def _verdict(
    statement: Statement,
    design: Design,
    readings: Readings,
    outcome: Outcome,
    *,
    reason: str = "",
) -> Verdict:
    return Verdict(
        outcome=outcome,
        statement=statement.text,
        scale=statement.scale,
        samples=tuple(_sample(side, values) for side, values in readings.items()),
        documented=statement.documented,
        seeds=max(len(values) for values in readings.values()),
        looks=() if isinstance(design, OneLook) else design.looks,
        level=design.level,
        reason=reason,
    )
