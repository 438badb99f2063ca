"""One look at a statement: what so many seeds say of it, and how that is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from repro.judge import evidence
from repro.judge.design import Design, OneLook
from repro.judge.effect import Effect
from repro.judge.evidence import Evidence, settle, to_fail, to_hold
from repro.judge.futility import HOPELESS
from repro.judge.ranking import Ranking, rank_correlation, tau_b
from repro.judge.scale import ScaleError
from repro.judge.student import MOST_SEEDS
from repro.judge.terms import Context, Readings, Statement, Term
from repro.judge.verdict import Outcome, Verdict


@dataclass(frozen=True)
class Look:
    """The terms of a statement as the seeds of one look give them."""

    design: Design
    readings: Readings
    terms: Sequence[Term]
    """The terms that are needed, and after them those that are implied."""
    needed: list[Evidence]
    implied: list[Evidence]
    outcome: Outcome
    ways: int
    """The number of statements of which one is enough for a claim: they share the level."""

    @property
    def seeds(self) -> int:
        return self.needed[0].seeds

    @property
    def is_hopeless(self) -> bool:
        """True where more seeds would hardly settle it."""
        return bool(evidence.is_hopeless(self.needed, self.implied, self.design))

    @cached_property
    def p(self) -> float:
        """The smallest level at which these looks would have settled it like this; 1 if open.

        It is at most the level exactly where it is settled. A true null has a p of at most q with
        chance q at most, however often one looked.
        """
        if self.outcome is Outcome.REPRODUCED:
            sides = [
                self.design.level_at(float(term.p_for), term.seeds, statistic=term.statistic_for)
                for term in self.needed
            ]
            return min(1.0, 2 * self.ways * max(sides))
        if self.outcome is Outcome.REFUTED:
            every = [*self.needed, *self.implied]
            sides = [
                self.design.level_at(
                    float(term.p_against), term.seeds, statistic=term.statistic_against
                )
                for term in every
                if not term.alike
            ]
            return min(1.0, 2 * sum(term.weight for term in every) * min(sides))
        return 1.0


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
    return Look(
        design=design,
        readings=readings,
        terms=(*needed, *statement.implied),
        needed=weighed,
        implied=implied,
        outcome=Outcome.REPRODUCED
        if reproduced
        else Outcome.REFUTED
        if refuted
        else Outcome.INCONCLUSIVE,
        ways=ways,
    )


def _weighed(term: Term, readings: Readings) -> Evidence:
    """Weigh a term; of sides whose runs repeat there is one run each, and no evidence.

    The floor of half an example would make a spread of them.
    """
    evidence = term.weigh(readings)
    measured = [side for side in term.sides if not (side.is_fixed or side.is_exact)]
    repeat = [getattr(side, "repeats", None) for side in measured]
    is_one_run = bool(measured) and all(
        each is not None and len(readings[side]) > 1 and each(len(readings[side]))
        for side, each in zip(measured, repeat, strict=True)
    )
    return replace(evidence, alike=True) if is_one_run else evidence


def explained(verdict: Verdict, statement: Statement, look: Look) -> Verdict:
    """Return the verdict with everything that is needed to check it by hand."""
    effects, is_open = _effects(look), verdict.outcome is Outcome.INCONCLUSIVE
    wanted = _wanted(look, effects) if is_open else None
    return replace(
        verdict,
        p=look.p,
        reason=verdict.reason or _all_alike(effects, look),
        advice=_advice(look, effects, wanted) if is_open else "",
        wanted=wanted,
        effects=effects,
        ranking=_ranking(statement, look, effects) if statement.ranking else None,
    )


def _effects(look: Look) -> tuple[Effect, ...]:
    every, place = [*look.needed, *look.implied], {side: i for i, side in enumerate(look.readings)}
    holds = to_hold(every, look.design, ways=look.ways)
    fails = to_fail(every, look.design)
    settled = look.outcome is not Outcome.INCONCLUSIVE
    return tuple(
        replace(
            term.report(
                weighed,
                look.readings,
                Context(look.design, len(look.needed), hold, fail, settled),
            ),
            sides=tuple(place[side] for side in term.sides),
            needed=i < len(look.needed),
        )
        for i, (term, weighed, hold, fail) in enumerate(
            zip(look.terms, every, holds, fails, strict=True)
        )
    )


def _all_alike(effects: Sequence[Effect], look: Look) -> str:
    """Ask what may be behind seeds that all gave the same; empty where none did."""
    for effect, term in zip(effects, look.terms, strict=True):
        if not effect.alike:
            continue
        measured = [side for side in term.sides if not side.is_fixed]
        values = {side: look.readings[side] for side in measured}
        names = " and ".join(dict.fromkeys(side.label for side in measured))
        if len(measured) == 1:
            value = float(values[measured[0]][0])
            return (
                f"every seed gave {value:.6g} for {names}: does the training use its seed, or is "
                "this a floor or a ceiling? (A metric that no seed can change is declared with "
                "exact=True.)"
            )
        if all(np.array_equal(values[side], values[measured[0]]) for side in measured):
            return (
                f"{names} are alike on every seed: does the setting that tells them apart reach "
                "the training, or is this a floor or a ceiling?"
            )
        return (
            f"every seed gave the same difference of {names}: does the training use its seed? (A "
            "metric that no seed can change is declared with exact=True.)"
        )
    return ""


def _ranking(statement: Statement, look: Look, effects: Sequence[Effect]) -> Ranking:
    place = {side: i for i, side in enumerate(statement.ranking, 1)}
    pairs = {
        (place[term.sides[0]], place[term.sides[1]]): effect
        for term, effect in zip(look.terms, effects, strict=True)
    }
    scale = look.terms[0].scale
    arms = [scale.of(look.readings[side], side.label) for side in statement.ranking]
    tau_of_means = tau_b(np.array([arm.mean() for arm in arms]))
    tau, low, high = tau_of_means, tau_of_means, tau_of_means
    is_by_seed = not any(term.counts for term in look.needed)
    if is_by_seed:
        tau, low, high = rank_correlation(arms, look.design.boundary(look.seeds))
    return Ranking(
        arms=tuple(side.label for side in statement.ranking),
        as_claimed=tuple(sorted(pair for pair, effect in pairs.items() if effect.holds)),
        against=tuple(sorted(pair for pair, effect in pairs.items() if effect.fails)),
        open=tuple(sorted(p for p, e in pairs.items() if not (e.holds or e.fails))),
        tau=tau,
        low=low,
        high=high,
        tau_of_means=tau_of_means,
        is_by_seed=is_by_seed,
    )


def _advice(look: Look, effects: Sequence[Effect], seeds: int | None) -> str:
    """Say how many seeds have 80 % power, were the effect and the spread what they look like.

    A term that points the wrong way can refute the statement by itself; otherwise the statement
    waits for the slowest of its open terms.
    """
    if any(effect.alike for effect in effects):
        return ""
    given_up = _given_up(look)
    judged = list(zip(look.terms, effects, strict=True))
    wrong = [(term, effect) for term, effect in judged if effect.distance < 0]
    open_ = [(term, effect) for term, effect in judged if effect.needed and not effect.holds]
    if seeds is None:
        if any(effect.is_ruled_by_examples for effect in effects):
            return (
                f"{given_up}most of the error comes from the examples, which all seeds were "
                "measured on: more examples would settle it, more seeds would not"
            )
        if any(effect.kind == "run" for _, effect in wrong or open_):
            return (
                f"{given_up}{MOST_SEEDS} seeds would not settle it: what the source printed is as "
                "uncertain as its own few runs, whatever is run here"
            )
        return (
            f"{given_up}the effect is indistinguishable from the bound: more than {MOST_SEEDS} "
            "seeds"
        )
    verdict = "refute" if wrong else "reproduce"
    would = f"{given_up}~{seeds} seeds would {verdict} it with 80% power"
    if isinstance(look.design, OneLook):
        more = max(1, seeds - min(effect.seeds for effect in effects))
        return (
            f"{would}, {more} more of each arm, if this effect and spread are the true ones (they"
            " are a second look, and cost what looks=… says)"
        )
    return (
        f"{would}, if this effect and spread are the true ones (new seeds: a budget extended after"
        " looking does not keep its level)"
    )


def _wanted(look: Look, effects: Sequence[Effect]) -> int | None:
    """Return the seeds of each arm that would settle a statement; None where none would."""
    if any(effect.alike for effect in effects):
        return None
    judged = list(zip(look.terms, effects, strict=True))
    wrong = [(term, effect) for term, effect in judged if effect.distance < 0]
    open_ = [(term, effect) for term, effect in judged if effect.needed and not effect.holds]
    needed = [term.seeds_needed(effect) for term, effect in wrong or open_]
    enough = [seeds for seeds in needed if seeds is not None]
    if not enough or (not wrong and len(enough) < len(needed)):
        return None
    return min(enough) if wrong else max(enough)


def _given_up(look: Look) -> str:
    """Say why there were no more looks; empty where the last one was reached."""
    last = look.design.looks[-1]
    if look.seeds == last or isinstance(look.design, OneLook):
        return ""
    return (
        f"given up after {look.seeds} of {last} seeds: the others would have settled it with a "
        f"chance below {HOPELESS:.0%}; "
    )
