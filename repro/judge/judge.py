"""Decides statements: looks at some seeds, and at more of them only while undecided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from repro.judge.design import Design
from repro.judge.effect import Effect, Sample
from repro.judge.evidence import Evidence, is_hopeless, settle
from repro.judge.futility import HOPELESS
from repro.judge.ranking import Ranking, rank_correlation, tau_b
from repro.judge.scale import Array
from repro.judge.student import MOST_SEEDS
from repro.judge.terms import Readings, Side, Statement, Term
from repro.judge.verdict import Outcome, Verdict


@dataclass
class Judge:
    """Decides statements by one design, and keeps the verdicts in the order they fell.

    Without `explains` verdicts have an outcome but no effects, for a caller that only has to know
    whether more seeds are needed.
    """

    design: Design
    explains: bool = True
    verdicts: list[Verdict] = field(default_factory=list)

    def decide(self, statement: Statement) -> Verdict:
        """Judge a statement, as the methods of `Measured`, `Gain`, `Ladder` and `Curve` do."""
        verdict = _decide(statement, self.design, explains=self.explains)
        self.verdicts.append(verdict)
        return verdict


def _decide(statement: Statement, design: Design, *, explains: bool) -> Verdict:
    outcome = Outcome.INCONCLUSIVE
    for seeds in design.looks:
        readings = {side: _read(side, seeds) for side in statement.sides}
        broken = _not_finite(readings)
        if broken:
            return _verdict(statement, design, readings, outcome, reason=broken)
        needed = [term.weigh(readings) for term in statement.terms]
        implied = [term.weigh(readings) for term in statement.implied]
        reproduced, refuted = settle(needed, implied, design)
        if reproduced or refuted:
            outcome = Outcome.REPRODUCED if reproduced else Outcome.REFUTED
            break
        if is_hopeless(needed, implied, design):
            break
    verdict = _verdict(statement, design, readings, outcome)
    return (
        _explained(verdict, statement, design, readings, needed, implied) if explains else verdict
    )


def _explained(
    verdict: Verdict,
    statement: Statement,
    design: Design,
    readings: Readings,
    needed: list[Evidence],
    implied: list[Evidence],
) -> Verdict:
    """The verdict with everything that is needed to check it by hand."""
    every = (*statement.terms, *statement.implied)
    counts = {"terms": len(statement.terms), "comparisons": len(every)}
    place = {side: i for i, side in enumerate(readings)}
    effects = [
        replace(
            term.report(evidence, readings, design, **counts),
            sides=tuple(place[side] for side in term.sides),
            needed=i < len(needed),
        )
        for i, (term, evidence) in enumerate(zip(every, needed + implied, strict=True))
    ]
    advice = ""
    if verdict.outcome is Outcome.INCONCLUSIVE:
        advice = _given_up(verdict.seeds, design) + _advice(every, effects)
    against = verdict.outcome is Outcome.REFUTED
    # No earlier look had a smaller p, or it would have settled the statement.
    weakest = max(effect.p_for for effect in effects if effect.needed)
    return replace(
        verdict,
        advice=advice,
        effects=tuple(effects),
        ranking=_ranking(statement, effects, readings, design) if statement.ranking else None,
        deciding_p=min(effect.p_against for effect in effects) if against else weakest,
        shared_by=len(every) if against else 1,
        statistic=needed[0].statistic_against if against else needed[0].statistic_for,
    )


def _read(side: Side, seeds: int) -> Array:
    values = np.asarray(side.values(seeds), dtype=np.float64)
    if values.ndim == 0 or len(values) != seeds:
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
        looks=design.looks,
        level=design.level,
        reason=reason,
    )


def _ranking(
    statement: Statement, effects: Sequence[Effect], readings: Readings, design: Design
) -> Ranking:
    place = {side: i for i, side in enumerate(statement.ranking, 1)}
    every = (*statement.terms, *statement.implied)
    pairs = {
        (place[term.sides[0]], place[term.sides[1]]): effect
        for term, effect in zip(every, effects, strict=True)
    }
    arms = [every[0].scale.of(readings[side], side.label) for side in statement.ranking]
    tau, low, high = rank_correlation(arms, design.boundary())
    return Ranking(
        arms=tuple(side.label for side in statement.ranking),
        as_claimed=tuple(sorted(pair for pair, effect in pairs.items() if effect.holds)),
        against=tuple(sorted(pair for pair, effect in pairs.items() if effect.fails)),
        open=tuple(sorted(p for p, e in pairs.items() if not (e.holds or e.fails))),
        tau=tau,
        low=low,
        high=high,
        tau_of_means=tau_b(np.array([arm.mean() for arm in arms])),
    )


def _given_up(seeds: int, design: Design) -> str:
    """Say why there were no more looks; empty where the last one was reached."""
    if seeds == design.looks[-1]:
        return ""
    return (
        f"given up after {seeds} of {design.looks[-1]} seeds: the others would have settled it with"
        f" a chance below {HOPELESS:.0%}; "
    )


def _advice(terms: Sequence[Term], effects: Sequence[Effect]) -> str:
    """Say how many seeds have 80 % power, were the effect and the spread what they look like.

    A term that points the wrong way can refute the statement by itself; otherwise the statement
    waits for the slowest of its open terms.
    """
    judged = list(zip(terms, effects, strict=True))
    wrong = [(term, effect) for term, effect in judged if effect.distance < 0]
    open_ = [(term, effect) for term, effect in judged if effect.needed and not effect.holds]
    needed = [term.seeds_needed(effect) for term, effect in wrong or open_]
    enough = [seeds for seeds in needed if seeds is not None]
    if not enough or (not wrong and len(enough) < len(needed)):
        return f"the effect is indistinguishable from the bound: more than {MOST_SEEDS} seeds"
    seeds = min(enough) if wrong else max(enough)
    verdict = "refute" if wrong else "reproduce"
    return (
        f"~{seeds} seeds would {verdict} it with 80% power, if this effect and spread are the "
        "true ones (new seeds: a budget extended after looking does not keep its level)"
    )
