"""From a statement to its verdict: look, and look again with more seeds only while undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from repro.judge.design import Design
from repro.judge.evidence import Evidence, is_skewed, settle, weigh
from repro.judge.scale import Array
from repro.judge.student import critical, seeds_needed
from repro.judge.terms import Readings, Side, Statement, Term
from repro.judge.verdict import Effect, Outcome, Verdict

_MOST_SEEDS = 200
_ROUNDING = 16 * float(np.finfo(np.float64).eps)


@dataclass
class Judge:
    """Decides statements by one design, and keeps the verdicts in the order they fell."""

    design: Design
    verdicts: list[Verdict] = field(default_factory=list)

    def decide(self, statement: Statement) -> Verdict:
        """Judge a statement; called by the words of `Measured`, `Gain` and `Ladder`."""
        verdict = _decide(statement, self.design)
        self.verdicts.append(verdict)
        return verdict


def evidence_for(term: Term, readings: Readings) -> Evidence:
    """The t test of one term; differences within rounding of each other count as the same."""
    left, right = term.parts(readings)
    largest = np.maximum(np.abs(left).max(axis=0), np.abs(right).max(axis=0))
    return weigh(term.differences(readings), resolution=_ROUNDING * largest)


def _decide(statement: Statement, design: Design) -> Verdict:
    outcome = Outcome.INCONCLUSIVE
    for seeds in design.looks:
        readings = {side: _read(side, seeds) for side in statement.sides}
        broken = _not_finite(readings)
        if broken:
            return _verdict(statement, design, seeds, outcome, readings, reason=broken)
        evidence = [evidence_for(term, readings) for term in statement.terms]
        reproduced, refuted = settle(evidence, design)
        if reproduced or refuted:
            outcome = Outcome.REPRODUCED if reproduced else Outcome.REFUTED
            break
    count = len(statement.terms)
    effects = [
        _effect(term, weighed, readings, design, count)
        for term, weighed in zip(statement.terms, evidence, strict=True)
    ] + [
        _effect(term, evidence_for(term, readings), readings, design, count, decides=False)
        for term in statement.also
    ]
    advice = _advice(effects) if outcome is Outcome.INCONCLUSIVE else ""
    return _verdict(statement, design, seeds, outcome, readings, effects=effects, advice=advice)


def _read(side: Side, seeds: int) -> Array:
    values = np.asarray(side.values(seeds), dtype=np.float64)
    if values.ndim == 0 or len(values) != seeds:
        raise ValueError(
            f"{side.label} gave values of shape {values.shape} for {seeds} seeds: "
            "values(n) must return one number for each of the first n seeds"
        )
    return values


def _not_finite(readings: Readings) -> str:
    reasons = []
    for side, values in readings.items():
        broken = int((~np.isfinite(values)).sum())
        if broken:
            reasons.append(f"{side.label} is not finite on {broken} of {len(values)} seeds")
    return "; ".join(reasons)


def _verdict(
    statement: Statement,
    design: Design,
    seeds: int,
    outcome: Outcome,
    readings: Readings,
    *,
    effects: Sequence[Effect] = (),
    reason: str = "",
    advice: str = "",
) -> Verdict:
    return Verdict(
        outcome=outcome,
        statement=statement.text,
        scale=statement.scale.name,
        means=tuple((s.label, float(v.mean())) for s, v in readings.items() if not s.is_fixed),
        effects=tuple(effects),
        seeds=seeds,
        looks=design.looks,
        level=design.level,
        detectable_in_sd=design.detectable(terms=len(statement.terms)),
        reason=reason,
        advice=advice,
    )


def _effect(
    term: Term,
    evidence: Evidence,
    readings: Readings,
    design: Design,
    terms: int,
    *,
    decides: bool = True,
) -> Effect:
    mean, spread, seeds = float(evidence.mean), float(evidence.spread), evidence.seeds
    half_width = float(critical(design.boundary(), seeds)) * spread / seeds**0.5
    ends = [term.effect(readings, mean - half_width), term.effect(readings, mean + half_width)]
    visible = term.effect(readings, design.detectable(terms=terms) * spread)
    return Effect(
        label=term.label,
        unit=term.unit,
        bound=term.bound.value,
        below=term.below,
        estimate=term.effect(readings, mean),
        low=min(ends),
        high=max(ends),
        p_for=float(evidence.p_for),
        p_against=float(evidence.p_against),
        boundary=design.boundary(),
        boundary_against=design.boundary(terms=terms),
        seeds=seeds,
        sd_from_bound=mean / spread if spread else float("inf" if evidence.p_for == 0 else "-inf"),
        detectable=abs(visible - term.bound.value),
        correlation=_correlation(term, readings),
        skewed=bool(spread) and is_skewed(term.differences(readings)),
        decides=decides,
    )


def _correlation(term: Term, readings: Readings) -> float | None:
    left, right = term.parts(readings)
    # Rounding of equal values is no spread to correlate.
    if min(np.ptp(left) / _size(left), np.ptp(right) / _size(right)) <= _ROUNDING:
        return None
    return float(np.corrcoef(left, right)[0, 1])


def _size(values: Array) -> float:
    return float(np.abs(values).max()) or 1.0


def _advice(effects: Sequence[Effect]) -> str:
    """Seeds for 80 % power, were the effect and the spread what they look like.

    A term that points the wrong way can refute the statement by itself; otherwise the statement
    waits for the slowest of its open terms.
    """
    deciding = [effect for effect in effects if effect.decides]
    wrong = [effect for effect in deciding if effect.sd_from_bound < 0]
    needed = [
        seeds_needed(
            abs(effect.sd_from_bound),
            boundary=effect.boundary_against if wrong else effect.boundary,
            limit=_MOST_SEEDS,
        )
        for effect in (wrong or deciding)
        if not effect.holds
    ]
    enough = [seeds for seeds in needed if seeds is not None]
    if not enough or (not wrong and len(enough) < len(needed)):
        return f"the effect is indistinguishable from the bound: more than {_MOST_SEEDS} seeds"
    seeds = min(enough) if wrong else max(enough)
    verdict = "refute" if wrong else "reproduce"
    return (
        f"~{seeds} seeds would {verdict} it with 80% power, if this effect and spread are the "
        "true ones (new seeds: a budget extended after looking does not keep its level)"
    )
