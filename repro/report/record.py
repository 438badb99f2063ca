"""The records of judged claims and of figures, sent between processes and published as JSON.

`json_data` turns them into JSON and back, and `schema` describes them to readers of the files.
A number that JSON cannot carry (a side that diverged, a comparison without spread) is None.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

from repro.document import ANY_PROFILE, Check
from repro.judge import Beyond, Effect, Outcome, Verdict
from repro.ledger import Change, Kind

Finding: TypeAlias = Verdict | Check
"""One statement that was judged, over seeds or by arithmetic; as text it explains itself."""


@dataclass(frozen=True, kw_only=True)
class SampleData:
    """One side of a statement: its value on each seed, or a number that the claim names."""

    label: str
    fixed: bool
    """True for a number that the claim names, which is the same on every seed."""
    values: list[float | None]
    """The value of each seed; null where a run has no finite value."""
    examples: int = 0
    """The number of examples that each value is the mean of, where their error is counted."""


@dataclass(frozen=True, kw_only=True)
class EffectData:
    """One comparison of a statement; its amounts are in `unit`, but for the plain one of gains."""

    label: str
    kind: Literal["difference", "spread", "share", "run"]
    """A run is what one run gives, or the mean of a few, with the interval of such runs."""
    unit: str
    plain: float | None
    """The difference of the means, their ratio or the gain between them, in the metric's unit."""
    on_scale: str
    """The scale where its estimate is another number than the plain one, else empty."""
    estimate: float | None
    """What the scale says; of gains on log or log-odds in units of that scale."""
    low: float | None
    """Low end of the interval, over all looks together."""
    high: float | None
    relation: Literal[">", "<", "≈"]
    """The claim: estimate > bound, estimate < bound, or the bound is documented of such a run."""
    bound: float
    state: Literal["holds", "contradicted", "open"]
    needed: bool
    """False for comparisons that follow from the others and can only refute."""
    exact: bool
    """True where every seed gave the same."""
    p_for: float
    p_against: float
    seeds: int
    sides: list[Annotated[int, {"minimum": 0}]]
    """Indices of the samples that it compares, in the order of its label."""
    per_seed: list[float | None]
    """The same comparison on each seed alone."""


@dataclass(frozen=True, kw_only=True)
class FindingData:
    """One statement that was judged, and its evidence."""

    statement: str
    outcome: Outcome
    scale: str
    """The scale on which values were compared: identity, log, log-odds; empty for a document."""
    documented: float | None
    """The number of the source that the measured one is held against, if there is one."""
    deciding: Annotated[int | None, {"minimum": 0}]
    """Index of the comparison that decides the statement."""
    samples: list[SampleData]
    effects: list[EffectData]
    lines: list[str]
    """The arithmetic, where the statement is about a document."""


@dataclass(frozen=True, kw_only=True)
class ArmData:
    """An arm that a claim was judged on."""

    label: str
    study: str
    """The module that trains it."""
    settings: dict[str, Any]
    """All settings except the seed."""
    seeds: list[int]
    keys: list[Annotated[str, {"pattern": "^[0-9a-f]{64}$"}]]
    """The key of the run of each seed in the store."""

    @property
    def name(self) -> str:
        """A short name made of its study and its settings."""
        text = json.dumps([self.study, self.settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Reason(StrEnum):
    """Why a claim is not run, or stays inconclusive whatever is trained."""

    NONE = ""
    """It is judged, and more seeds would settle it where it is inconclusive."""
    HERE = "not run here"
    UNTESTABLE = "cannot be tested"
    EXAMPLES = Beyond.EXAMPLES.value
    RUNS = Beyond.RUNS.value
    SIZE = Beyond.SIZE.value


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """Everything known of one claim once it is judged."""

    claim: str
    """The claim's name in the ledger: source, test, parameters."""
    sentence: str
    source: str
    """The source, and the place in it."""
    about: str
    """The first paragraph of the docstring of the claim's file."""
    documented: str
    """The result that the source states, in its own words; may be empty."""
    kind: Kind
    """Whose it is: what the source claims, a question of ours, or a control of ours."""
    profile: str
    """ci, paper, or any for what a document alone decides."""
    data: str
    """The data sets that the verdict is about."""
    verdict: Outcome
    reason: Reason = Reason.NONE
    """Why it is not run, or stays inconclusive whatever is trained; else empty."""
    p: float | None
    """The smallest level at which the same looks would have given this verdict; null where
    nothing was random or nothing was run."""
    level: float = 0.0
    """The chance allowed for a false verdict, both directions together; 0 where nothing was random
    or nothing was run."""
    looks: list[int] = field(default_factory=list)
    """The numbers of seeds that were declared to look at, before anything was trained; empty where
    there was one look, at all there were."""
    accepted: str | None
    """The verdict in the ledger, if there was one."""
    opposed: str | None = None
    """The opposite verdict that the ledger has at another size; null where there is none."""
    change: str
    """The difference from the ledger in words; empty where there is none."""
    change_kind: Change
    """The kind of this difference; empty where there is none."""
    measured: str
    """The deciding comparison in one line."""
    text: str
    """The whole explanation."""
    findings: list[FindingData]
    arms: list[str]
    """Names of the arms it was judged on."""
    metrics: list[str]
    """The metrics it is about."""
    file: str
    line: int
    """The line of the test in its file, counted from 0."""
    command: str
    """The command that judges this claim alone in the same way."""
    machine: str
    """Device, processor, torch and engine that trained the runs of a reproduced claim, or empty."""
    past: list[tuple[float, float | None, int]]
    """Mean, spread and seeds of each comparison of a reproduced claim past its bound, on its scale;
    else empty. The distance of a standard deviation is a logarithm, its spread null."""
    levels: list[tuple[str, str, float, float, int]] = field(default_factory=list)
    """Arm, metric, mean, standard deviation and seeds of what a reproduced claim compares."""
    one_look: list[int]
    """The seeds of each side of an open claim where one look at them spent its whole level."""
    ledger: str
    """The ledger that holds its accepted verdict."""

    @property
    def name(self) -> str:
        """The claim's name without its source."""
        return self.claim.partition("/")[2] or self.claim

    @property
    def is_about_a_document(self) -> bool:
        """True for a statement that a document alone decides."""
        return self.profile == ANY_PROFILE

    @property
    def is_settled(self) -> bool:
        """True where it is reproduced or refuted."""
        return self.verdict in (Outcome.REPRODUCED, Outcome.REFUTED)


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """The record of a claim with the arms that it names, as a process sends them to another."""

    record: ClaimRecord
    arms: dict[str, ArmData]


@dataclass(frozen=True, kw_only=True)
class LineData:
    """One line of a panel: values over seeds at each place, and the documented ones if any."""

    label: str
    at: list[float]
    values: list[list[float]]
    """The values over seeds, for each place of `at`."""
    documented: list[float]


@dataclass(frozen=True, kw_only=True)
class PanelData:
    """One coordinate system of a figure."""

    title: str
    lines: list[LineData]


@dataclass(frozen=True, kw_only=True)
class FigureData:
    """The content of a figure."""

    name: str
    title: str
    source: str
    x: str
    y: str
    profile: str
    data: list[str]
    panels: list[PanelData]


def finding_data(finding: Finding) -> FindingData:
    """Return a verdict of the judge, or a check of a document, as data."""
    if isinstance(finding, Check):
        return FindingData(
            statement=finding.measured,
            outcome=finding.outcome,
            scale="",
            documented=None,
            deciding=None,
            samples=[],
            effects=[],
            lines=list(finding.lines),
        )
    weakest = finding.weakest
    return FindingData(
        statement=finding.statement,
        outcome=finding.outcome,
        scale=finding.scale,
        documented=finding.documented,
        deciding=None if weakest is None else finding.effects.index(weakest),
        samples=[
            SampleData(
                label=each.label,
                fixed=each.is_fixed,
                values=_finite(each.values),
                examples=each.examples,
            )
            for each in finding.samples
        ],
        effects=[_effect_data(effect) for effect in finding.effects],
        lines=[],
    )


def _effect_data(effect: Effect) -> EffectData:
    plain, estimate, low, high = _finite((effect.plain, effect.estimate, effect.low, effect.high))
    return EffectData(
        label=effect.label,
        kind=effect.kind,
        unit=effect.unit,
        plain=plain,
        on_scale=effect.on_scale,
        estimate=estimate,
        low=low,
        high=high,
        relation="≈" if effect.kind == "run" else "<" if effect.below else ">",
        bound=effect.bound,
        state="holds" if effect.holds else "contradicted" if effect.fails else "open",
        needed=effect.needed,
        exact=not effect.has_spread,
        p_for=effect.p_for,
        p_against=effect.p_against,
        seeds=effect.seeds,
        sides=list(effect.sides),
        per_seed=_finite(effect.per_seed),
    )


def _finite(values: Iterable[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def deciding_effect(record: ClaimRecord) -> tuple[FindingData, EffectData] | None:
    """Return the finding and the comparison that decide a claim; None where none was judged.

    Of several findings it is the last with the claim's own outcome.
    """
    if record.verdict is Outcome.NOT_RUN:
        return None
    judged = [(f, f.effects[f.deciding]) for f in record.findings if f.deciding is not None]
    alike = [pair for pair in judged if pair[0].outcome is record.verdict]
    return next(reversed(alike or judged), None)
