"""Decides statements: looks at a few seeds first, and at more only while they are undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from repro.judge.anytime import further
from repro.judge.comparison import MOST_SEEDS, Evidence, Look, seeds_needed
from repro.judge.contrast import Contrast, Readings, Sampled, Side, Statement
from repro.judge.effect import Effect, Sample
from repro.judge.looks import Design, OneLook
from repro.judge.sample import lower_state
from repro.judge.scale import Array, ScaleError
from repro.judge.terms import effect_size
from repro.judge.verdict import Beyond, Findings, Outcome, Verdict

_UNLIKE = 0.05
"""Below this p, spreads that are declared to be the same are said to differ."""

_LEAST_FREEDOM = 2
"""With fewer degrees of freedom a spread says nothing about how many more runs it takes."""

_TOGETHER = 0.9
"""From this correlation on, paired arms collapse on the same seeds."""

Compared: TypeAlias = tuple[Sampled, Effect]
"""A comparison at the look that ended: its sample, and what it is found to be."""


@dataclass
class Judge:
    """Decides statements by one design, and keeps the verdicts in order."""

    design: Design
    findings: Findings[Verdict] = field(default_factory=Findings)

    @property
    def verdicts(self) -> list[Verdict]:
        return self.findings.made

    def decide(self, statement: Statement) -> Verdict:
        """Judge a statement, as the methods of `Measured`, `Gain`, `Ladder` and `Curve` do."""
        return self.findings.add(self._decided(statement))

    def join(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Replace several verdicts by one, on all their statements together.

        The statements then share one level: any of them can refute the joint one, and all together
        refute it falsely no more often than a single statement may.
        """
        statements = [verdict.judged for verdict in verdicts]
        together = Statement(
            ", and ".join(statement.text for statement in statements),
            tuple(term for statement in statements for term in statement.terms),
            tuple(term for statement in statements for term in statement.implied),
        )
        return self.findings.replace(verdicts, self._decided(together))

    def again(self, verdict: Verdict, looks: tuple[int, ...]) -> Verdict:
        """Judge the statement of a verdict at other looks, and put it in the verdict's place."""
        other = replace(self, design=replace(self.design, looks=looks))
        made = self.findings.made  # in the order in which the ledger has them
        place = [each is verdict for each in made].index(True)
        made[place] = other._decided(verdict.judged)
        return made[place]

    def over(self, verdict: Verdict, seeds: int) -> Effect | None:
        """Return the deciding comparison of a verdict over another number of seeds."""
        weakest = verdict.weakest
        other = replace(self, design=OneLook(looks=(seeds,), level=self.design.level))
        found = other._decided(verdict.judged).effects
        return next((each for each in found if weakest and each.label == weakest.label), None)

    def _decided(self, statement: Statement) -> Verdict:
        design, sides = self.design, statement.sides
        for seeds in design.looks:
            readings = {side: _read(side, seeds) for side in sides}
            if reason := _not_finite(readings):
                return self._verdict(statement, readings, reason=reason)
            terms = _judged_terms(statement, readings)
            sampled = [term.sampled(readings) for term in terms]
            weighed = [_weighed(each, design) for each in sampled]
            needed = len(terms) - len(statement.implied)
            look = Look(design, weighed[:needed], weighed[needed:])
            if look.reproduced or look.refuted or seeds == design.looks[-1] or look.is_hopeless:
                break
        effects = _effects(look, sampled, sides)
        if not statement.implied:
            effects = _with_effect_size(effects, sampled, design)
        compared, repeats = list(zip(sampled, effects, strict=True)), _repeats(sampled)
        found: dict[str, Any] = {"outcome": Outcome.REPRODUCED}
        if look.refuted:
            found = {"outcome": Outcome.REFUTED}
        elif not look.reproduced:
            found = dict(zip(("beyond", "advice"), _advice(effects, design), strict=True))
        return self._verdict(
            statement,
            readings,
            p=look.p,
            effects=effects,
            reason=_no_sample(compared),
            repeats=tuple(repeats),
            copies=tuple(said for said, is_copy in repeats.items() if is_copy),
            states=_states(compared) + _spreads(sampled),
            **found,
        )

    def _verdict(self, statement: Statement, readings: Readings, **found: Any) -> Verdict:
        """Return the verdict on what was read; `inconclusive` where nothing else is found."""
        samples = (
            Sample(side.label, tuple(values.tolist()), side.is_fixed, side.left_out(len(values)))
            for side, values in readings.items()
        )
        told: dict[str, Any] = {"outcome": Outcome.INCONCLUSIVE} | found
        return Verdict(
            statement=statement.text,
            documented=statement.documented,
            scale=", ".join(dict.fromkeys([term.scale.name for term in statement.terms])),
            samples=tuple(samples),
            seeds=max(map(len, readings.values())),
            looks=self.design.declared,
            level=self.design.level,
            at_any_time=self.design.at_any_time,
            judge=self,
            judged=statement,
            **told,
        )


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
    """Name the sides with values that are not finite; empty where all values are finite."""
    reasons = []
    for side, values in readings.items():
        broken = int((~np.isfinite(values)).sum())
        if broken:
            reasons.append(
                f"{side.label} has no finite value on {broken} of {len(values)} {side.word}"
            )
    return "; ".join(reasons)


def _judged_terms(statement: Statement, readings: Readings) -> list[Contrast]:
    """Return the terms that some measured value could fail, and then the implied terms."""
    needed = [term for term in statement.terms if not term.is_trivial(readings)]
    if not needed:
        raise ScaleError(
            f"{statement.text}: no measured value could fail this, since the bound lies beyond "
            "what the metric can be; claim a smaller margin"
        )
    return [*needed, *statement.implied]


def _weighed(sampled: Sampled, design: Design) -> Evidence:
    """Weigh a term; if its runs are no sample, it is no evidence."""
    weighed = design.read(sampled.term.weigh(sampled.readings))
    if sampled.is_sample:
        return weighed
    return replace(weighed, p_for=1.0, p_against=1.0, is_constant=True)


def _effects(look: Look, sampled: Sequence[Sampled], sides: Sequence[Side]) -> tuple[Effect, ...]:
    """Describe all comparisons of a look; without a sample there is no interval."""
    place, found = {side: i for i, side in enumerate(sides)}, list[Effect]()
    for each, evidence in zip(sampled, look.every, strict=True):
        effect = each.term.describe(evidence, each.readings)
        found.append(
            replace(
                effect,
                p_for=float(effect.p_for),
                p_against=float(effect.p_against),
                is_constant=bool(effect.is_constant),
                low=effect.low if each.is_sample else np.nan,
                high=effect.high if each.is_sample else np.nan,
                word=each.claimed.word,
                sides=tuple(map(place.__getitem__, each.claimed.sides)),
                needed=len(found) < len(look.needed),
            )
        )
    return tuple(found)


def _with_effect_size(
    effects: tuple[Effect, ...], sampled: Sequence[Sampled], design: Design
) -> tuple[Effect, ...]:
    """Return effects, the deciding one compared with the documented effect."""
    place = min(range(len(effects)), key=lambda i: effects[i].distance)
    decides, of_it = sampled[place], effects[place]
    if not decides.is_sample or math.isnan(of_it.estimate):
        return effects
    word, documented = effect_size(decides.term, decides.readings, design, among=len(effects))
    named = replace(of_it, effect_size=word, documented=documented)
    return (*effects[:place], named, *effects[place + 1 :])


def _repeats(sampled: Sequence[Sampled]) -> dict[str, bool]:
    """Name the runs that repeat others, each arm once; True where it is no floor or ceiling."""
    found: dict[str, bool] = {}
    for each in sampled:
        varied = [x for x in each.readings.values() if len(set(x.tolist())) > 1]
        for runs in each.runs.values():
            if not runs.are_one and (said := runs.said(varied[0] if varied else None)):
                found[said] = runs.repeat_several
    return found


def _states(compared: Sequence[Compared]) -> tuple[str, ...]:
    """Name the arms whose runs end in one of two states, where a t test takes them for normal.

    Where paired arms do so on the same seeds, their differences do not.
    """
    found: dict[Side, str] = {}
    for each, effect in compared:
        is_together = effect.correlation is not None and effect.correlation > _TOGETHER
        if (
            effect.kind in ("share", "print")
            or effect.is_constant
            or is_together
            or not effect.needed
        ):
            continue
        scale = each.term.scale
        for side in each.term.sides:
            if not (side.is_fixed or side.is_exact or side in found):
                values = each.readings[side]
                scaled = scale.of(values, side.label)
                lower = lower_state(scaled, least=float(scale.half_example(scaled)))
                found[side] = _in_two_states(side.label, values, lower) if lower else ""
    return tuple(dict.fromkeys(filter(None, found.values())))


def _spreads(sampled: Sequence[Sampled]) -> tuple[str, ...]:
    """Say that spreads differ which are declared to be the same; empty where they do not."""
    same = [each.term.same_spread for each in sampled]
    p = min((float(each.p) for each in same if each is not None), default=1.0)
    if p >= _UNLIKE:
        return ()
    return (
        f'spread="same" may be wrong: the spreads of the arms differ (Bartlett\'s test, p {p:.1g});'
        " without it each arm has its own",
    )


def _in_two_states(label: str, values: Array, lower: int) -> str:
    low, high = np.split(np.sort(values), [lower])
    return (
        f"the runs of {label} look as if they end in one of two states, {len(low)} near"
        f" {low.mean():.3g} and {len(high)} near {high.mean():.3g}: over few seeds a test of means"
        " then errs more often than its level (in_at_least=0.5 claims the median)"
    )


def _no_sample(compared: Sequence[Compared]) -> str:
    """Ask why all seeds gave the same value; empty where they did not."""
    first = next((each for each, effect in compared if effect.is_constant), None)
    if first is None:
        return ""
    seeds, seed = first.term.word, first.term.word.removesuffix("s")
    if one := [runs for runs in first.runs.values() if runs.are_one]:
        named = " and ".join(dict.fromkeys(runs.label for runs in one))
        return (
            f"all {len(one[0])} {seeds} of {named} gave the same run: does the training use its"
            " seed? (If no seed can change it, say deterministic = True in the class of the arm.)"
        )
    if not first.is_sample and any(runs.left_out for runs in first.runs.values()):
        return "fewer than two pairs of runs are left"
    measured = [side for side in first.term.sides if not side.is_fixed]
    values = [first.readings[side] for side in measured]
    names = " and ".join(dict.fromkeys(side.label for side in measured))
    exact = "(A metric that no seed can change is declared with exact=True.)"
    if len(measured) == 1:
        return (
            f"every {seed} gave {float(values[0][0]):.6g} for {names}: does the training use its"
            f" seed, or is this a floor or a ceiling? {exact}"
        )
    if all(np.array_equal(each, values[0]) for each in values):
        return (
            f"{names} are alike on every {seed}: does the setting that tells them apart reach "
            "the training, or is this a floor or a ceiling?"
        )
    return (
        f"every {seed} gave the same difference of {names}: does the training use its seed? {exact}"
    )


def _advice(effects: Sequence[Effect], design: Design) -> tuple[Beyond, str]:
    """Return the seeds for 80 % power in words, or the reason if no number is enough.

    The measured effect and spread are taken as the true ones. A term that points the wrong way can
    refute the statement alone; otherwise the statement waits for the slowest of its open terms.
    """
    if any(effect.is_constant for effect in effects):
        return Beyond.NONE, ""
    if any(e.freedom < _LEAST_FREEDOM for e in effects if e.kind != "print"):
        return Beyond.NONE, "two runs hardly say how much runs differ: run it more often"
    if design.at_any_time:
        return _advice_at_any_time(effects)
    wrong = [effect for effect in effects if effect.distance < 0]
    open_ = [effect for effect in effects if effect.needed and not effect.holds]
    if wrong:
        one_sided = [0.5 if each.kind == "run" else 1.0 for each in wrong]
        needed = [
            seeds_needed(each, side * each.p_against, side * each.boundary_against)
            for side, each in zip(one_sided, wrong, strict=True)
        ]
    else:
        needed = [seeds_needed(each, each.p_for, each.boundary) for each in open_]
    enough = [seeds for seeds in needed if seeds is not None]
    given_up = _given_up(effects[0].seeds, design)
    if not enough or (not wrong and len(enough) < len(needed)):
        beyond, why = _why_none(wrong or open_)
        return beyond, given_up + why
    seeds = min(enough) if wrong else max(enough)
    word = effects[0].word
    would = f"{given_up}~{seeds} {word} would {'refute' if wrong else 'reproduce'} it with 80%"
    if not design.declared:
        more = max(1, seeds - min(effect.seeds for effect in effects))
        return Beyond.NONE, (
            f"{would} power, {more} more of each arm, if this effect and spread are the true"
            " ones (they are a second look, which looks=… has to declare)"
        )
    return Beyond.NONE, (
        f"{would} power, if this effect and spread are the true ones (new {word}: a budget"
        " extended after looking does not keep its level)"
    )


def _advice_at_any_time(effects: Sequence[Effect]) -> tuple[Beyond, str]:
    """Return the further runs of each arm that would just settle an open comparison."""
    open_ = [effect for effect in effects if effect.needed and not effect.holds]
    found = [
        further(
            abs(float(each.mean)),
            [float(v) * n for v, n in zip(each.variances, counts, strict=True)],
            counts,
            level=each.boundary,
            most=MOST_SEEDS,
            freedom=each.freedom if each.is_pooled else None,
        )
        for each in open_
        for counts in [each.counts or (each.seeds,)]
    ]
    if not found or not all(found):
        return _why_none(open_)
    runs = " and ".join(str(max(each)) for each in zip(*found, strict=False))
    more = f"{runs} more {'run' if runs == '1' else 'runs'}"
    return Beyond.NONE, (
        f"{more} would just settle it, if this effect and spread are the true ones (add them one by"
        " one, and look after each)"
    )


def _given_up(seeds: int, design: Design) -> str:
    """Say why the looks ended early; empty where the last look was reached."""
    if not design.declared or seeds == design.looks[-1]:
        return ""
    return (
        f"given up after {seeds} of {design.looks[-1]} seeds: the others would have settled it with"
        f" a chance below {design.futility:.0%}; "
    )


def _why_none(effects: Sequence[Effect]) -> tuple[Beyond, str]:
    """Return why no number of seeds would settle the statement, as a `Beyond` and in words."""
    if any(e.examples and e.fixed_variance > e.over_seeds / e.seeds for e in effects):
        return Beyond.EXAMPLES, (
            "most of the error comes from the examples, which all seeds were measured on: more"
            " examples would settle it, more seeds would not"
        )
    if any(effect.kind == "run" for effect in effects):
        return Beyond.RUNS, (
            f"{MOST_SEEDS} seeds would not settle it: what the source printed is as uncertain as"
            " its own few runs, whatever is run here"
        )
    said = "the effect is indistinguishable from the bound:"
    said = f"{said} more than {MOST_SEEDS} {effects[0].word}"
    return Beyond.SIZE, said
