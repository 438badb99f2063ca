"""The records of judged claims and of figures, sent between processes and published as JSON.

`results.schema.json` describes their JSON. A number that is not finite (of a diverged run, or a
comparison without spread) is None, since JSON has none. A field with the default None is left out
of the JSON if it is None.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import EnumType, StrEnum
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from repro.document import Check
from repro.judge import Beyond, Effect, EffectSize, Outcome, Verdict
from repro.judge.contrast import Side
from repro.judge.effect import Sample
from repro.ledger import Change, Kind
from repro.runs.profiles import ANY_PROFILE

T = TypeVar("T")

Finding: TypeAlias = Verdict | Check
"""One judged statement, over seeds or by arithmetic; `str` explains it."""


@dataclass(frozen=True, kw_only=True)
class SampleData:
    """One side of a statement: its value on each seed, or a number that the claim names."""

    label: str
    fixed: bool
    """True for a number that the claim names."""
    values: list[float | None]
    """The value of each seed; null where a run has no finite value."""
    seeds: list[int] = field(default_factory=list)
    """The seed of each value; empty where no seed can change it."""
    left_out: list[int] = field(default_factory=list)
    """The seeds whose runs repeat others, and do not count."""

    @property
    def by_seed(self) -> dict[int | None, float | None]:
        """The value of each seed; empty where no seed can change it."""
        return dict(zip(self.seeds, self.values, strict=True)) if self.seeds else {}


@dataclass(frozen=True, kw_only=True)
class EffectData:
    """One comparison of a statement; amounts are in `unit`, except `plain` of gains."""

    label: str
    kind: Literal["difference", "share", "run", "print"]
    """`run`: one run, or the mean of a few, compared with a documented number; `print`: the mean
    or the spread of runs, compared with a printed one."""
    unit: str
    plain: float | None
    """The difference or the ratio of the means, or of their gains, in the metric's unit."""
    on_scale: str
    """The scale, if its estimate differs visibly from `plain`; else empty."""
    estimate: float | None
    """The estimate on the scale, in natural units; of gains, in units of the scale."""
    low: float | None
    """Low end of the interval, over all looks together."""
    high: float | None
    relation: Literal[">", "<", "≈"]
    """The claim: estimate > bound, estimate < bound, or (≈) the bound is a run, or a print."""
    bound: float
    state: Literal["holds", "contradicted", "open"]
    needed: bool
    """False for implied comparisons, which can only refute."""
    exact: bool
    """True where every seed gave the same difference."""
    p_for: float
    p_against: float
    documented: float | None
    """The documented effect, if the claim says what the source prints of each arm."""
    effect_size: EffectSize
    """The effect beside the documented one; empty without that, or if it does not decide."""
    seeds: int
    sides: list[Annotated[int, {"minimum": 0}]]
    """The indices of the compared samples, in the order of the label."""
    per_seed: list[float | None]
    """The effect on each seed alone, if the sides are paired: on those of both that count."""


@dataclass(frozen=True, kw_only=True)
class FindingData:
    """One judged statement, and its evidence."""

    statement: str
    outcome: Outcome
    scale: str
    """The scale of the comparison: identity, log, log-odds; empty for a document."""
    documented: float | None
    """The number of the source that the measured value is compared with, if there is one."""
    deciding: Annotated[int | None, {"minimum": 0}]
    """The index of the deciding comparison."""
    samples: list[SampleData]
    effects: list[EffectData]
    lines: list[str]
    """The arithmetic of a statement about a document."""


@dataclass(frozen=True, kw_only=True)
class ArmData:
    """An arm behind verdicts, with all runs that they used of it."""

    label: str
    study: str
    """The module of its study."""
    settings: dict[str, Any]
    """All settings except the seed."""
    seeds: list[int]
    keys: list[Annotated[str, {"pattern": "^[0-9a-f]{64}(/[0-9a-f]{16})?$"}]]
    """The key in the store of the run of each seed."""

    @property
    def name(self) -> str:
        """A short hash of its study and its settings."""
        text = json.dumps([self.study, self.settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def joined(self, other: ArmData) -> ArmData:
        """Return the same arm with the runs of both."""
        keys = dict(zip(self.seeds + other.seeds, self.keys + other.keys, strict=True))
        seeds = sorted(keys)
        return dataclasses.replace(self, seeds=seeds, keys=[keys[seed] for seed in seeds])


class Reason(StrEnum):
    """Why a claim is not run, or why no number of seeds would settle it."""

    NONE = ""
    """It is judged; if it is inconclusive, more seeds would settle it."""
    HERE = "not run here"
    UNTESTABLE = "cannot be tested"
    EXAMPLES = Beyond.EXAMPLES.value
    RUNS = Beyond.RUNS.value
    SIZE = Beyond.SIZE.value


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """All data of one judged claim."""

    claim: str
    """The claim's name in the ledger: source, test, parameters."""
    sentence: str
    source: str
    """The source, and where in it."""
    about: str = ""
    """The first paragraph of the docstring of the claim's file."""
    documented: str = ""
    """The result that the source states, in its own words; may be empty."""
    kind: Kind = "source"
    """A claim of the source, a question of ours, or a control of ours."""
    profile: str
    """ci, paper, or any for a claim about a document."""
    data: str = ""
    """The data sets of the verdict."""
    verdict: Outcome | Literal["error"]
    """`error` for a claim that crashed or was refused; then `text` is what it said."""
    reason: Reason = Reason.NONE
    """Why it is not run, or why no number of seeds would settle it; else empty."""
    p: float | None
    """The smallest level, both directions together, at which the same looks would have given this
    verdict; null if all is exact or nothing was run."""
    level: float = 0.0
    """The allowed chance of a false verdict in one direction, as declared; 0 if nothing was run."""
    false_at_most: float = 0.0
    """The allowed chance of a false verdict, summed over both directions and all findings that are
    not exact."""
    looks: list[int] = field(default_factory=list)
    """The numbers of seeds at which to look, declared before training; empty for one look at all
    existing runs."""
    accepted: str | None
    """The verdict in the ledger, if there is one."""
    opposed: str | None = None
    """The opposite verdict in the ledger at another size; null without one."""
    change: str = ""
    """The difference from the ledger in words; empty without one."""
    change_kind: Change = Change.NONE
    """The kind of difference from the ledger; empty without one."""
    measured: str = ""
    """The deciding comparison in one line."""
    text: str
    """The whole explanation."""
    findings: list[FindingData] = field(default_factory=list)
    arms: dict[str, list[int]] = field(default_factory=dict)
    """The seeds that it used of each arm, by the arm's name."""
    metrics: list[str] = field(default_factory=list)
    """Its metrics."""
    file: str
    line: int
    """The line of the test in its file, counted from 0."""
    command: str
    """The command that judges this claim alone in the same way."""
    machine: str = ""
    """Device, processor, torch and engine of the runs of a reproduced claim; else empty."""
    labels: list[str] = field(default_factory=list)
    """The labels of its arms, in the order of the claim."""
    past: list[tuple[float, float, int]] = field(default_factory=list)
    """The distance of each comparison past its bound, for a reproduced claim: mean, spread and
    seeds."""
    levels: list[tuple[str, str, float, float, int]] = field(default_factory=list)
    """Arm, metric, mean, standard deviation and seeds."""
    one_look: list[int] = field(default_factory=list)
    """The seeds of each side, if the claim is open after one look at its whole level."""
    effect_size: EffectSize = EffectSize.NONE
    """The second word of the verdict: the effect beside the documented one; empty without that."""
    over_stored: list[float] = field(default_factory=list)
    """The deciding estimate over all stored seeds, and their number, if the verdict has fewer."""
    ledger: str = ""
    """The ledger with its accepted verdict."""

    @property
    def name(self) -> str:
        """The claim's name without its source."""
        return self.claim.partition("/")[2] or self.claim

    @property
    def is_about_a_document(self) -> bool:
        """True for a claim about a document."""
        return self.profile == ANY_PROFILE

    @property
    def is_settled(self) -> bool:
        """True for `reproduced` and `refuted`."""
        return self.verdict in (Outcome.REPRODUCED, Outcome.REFUTED)


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """The record of a claim with its arms, as one process sends it to another."""

    record: ClaimRecord
    arms: dict[str, ArmData]


@dataclass(frozen=True, kw_only=True)
class LineData:
    """One line of a panel: the values over seeds at each position, and the documented values."""

    label: str
    at: list[float]
    values: list[list[float]]
    """The values over seeds, for each position in `at`."""
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
    sides = finding.judged.sides if finding.judged else ()
    return FindingData(
        statement=finding.statement,
        outcome=finding.outcome,
        scale=finding.scale,
        documented=finding.documented,
        deciding=None if weakest is None else finding.effects.index(weakest),
        samples=[
            _sample_data(each, side) for each, side in zip(finding.samples, sides, strict=True)
        ],
        effects=[_effect_data(effect) for effect in finding.effects],
        lines=[],
    )


def _sample_data(sample: Sample, side: Side) -> SampleData:
    runs = side.runs if not (side.is_fixed or side.is_exact) else None
    seeds = list(runs(len(sample.values)).by_seed) if runs else []
    return SampleData(
        label=sample.label,
        fixed=sample.is_fixed,
        values=_finite(sample.values),
        seeds=seeds,
        left_out=[seeds[place] for place in sorted(sample.left_out)],
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
        relation="≈" if effect.kind in ("run", "print") else "<" if effect.below else ">",
        bound=effect.bound,
        state="holds" if effect.holds else "contradicted" if effect.fails else "open",
        needed=effect.needed,
        exact=not effect.has_spread,
        p_for=effect.p_for,
        p_against=effect.p_against,
        documented=effect.documented,
        effect_size=effect.effect_size,
        seeds=effect.seeds,
        sides=list(effect.sides),
        per_seed=_finite(effect.per_seed),
    )


def _finite(values: Iterable[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def deciding_effect(record: ClaimRecord) -> tuple[FindingData, EffectData] | None:
    """Return the finding and the comparison that decide a claim; None if nothing was judged.

    Of several findings, the last one with the claim's own outcome decides.
    """
    if record.verdict is Outcome.NOT_RUN:
        return None
    judged = [(f, f.effects[f.deciding]) for f in record.findings if f.deciding is not None]
    alike = [pair for pair in judged if pair[0].outcome is record.verdict]
    return next(reversed(alike or judged), None)


def to_json(value: Any) -> Any:
    """Return a value for `json.dumps`: dataclasses as objects, tuples as lists."""
    if value is None or isinstance(value, str | int | float):  # first, since most values are plain
        return value
    if dataclasses.is_dataclass(value):
        parts = [(each, getattr(value, each.name)) for each in dataclasses.fields(value)]
        return {
            each.name: to_json(part)
            for each, part in parts
            if part is not None or each.default is not None
        }
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, dict):
        return {name: to_json(each) for name, each in value.items()}
    return value


def from_json(kind: type[T], data: Any) -> T:
    """Return a value of this type from the output of `to_json`."""
    value: T = _built(kind, data)
    return value


def _built(kind: Any, data: Any) -> Any:
    if data is None or isinstance(data, int | float):
        return data
    if (parts := _parts(kind)) is not None:
        return kind(**{name: _built(parts[name], each) for name, each in data.items()})
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return [_built(inner[0], each) for each in data]
    if origin is tuple:
        return tuple(_built(each, part) for each, part in zip(inner, data, strict=True))
    if origin is dict:
        return {name: _built(inner[1], each) for name, each in data.items()}
    if origin is Union:  # of an enum and a text
        kind = inner[0] if data in tuple(inner[0]) else str
    return kind(data) if isinstance(kind, EnumType) else data


@cache
def _parts(kind: Any) -> dict[str, Any] | None:
    """Return the type of each field of a dataclass; None for any other type."""
    return get_type_hints(kind) if dataclasses.is_dataclass(kind) else None
