"""What is known of a claim once it is judged, as plain data: it travels between processes as JSON.

`results.schema.json` describes the same shapes for readers of the file. Numbers that JSON cannot
carry (a side that diverged, a distance without spread) are null.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypedDict

from repro.document import Check
from repro.judge import Effect, Verdict

Finding: TypeAlias = Verdict | Check
"""One statement that was judged, over seeds or by arithmetic; as text it explains itself."""


class SampleData(TypedDict):
    """One side of a statement: its value on each seed, or a number that the claim names."""

    label: str
    fixed: bool
    values: list[float | None]


class EffectData(TypedDict):
    """One comparison of a statement; amounts are in `unit`."""

    label: str
    kind: Literal["difference", "spread"]
    unit: str
    estimate: float | None
    low: float | None
    high: float | None
    relation: Literal[">", "<"]
    bound: float
    state: Literal["holds", "contradicted", "open"]
    needed: bool
    exact: bool
    p_for: float
    p_against: float
    seeds: int
    sides: list[int]
    per_seed: list[float | None]


class FindingData(TypedDict):
    """One statement and its evidence; `lines` is the arithmetic of a statement about a document."""

    statement: str
    outcome: str
    scale: str
    documented: float | None
    deciding: int | None
    samples: list[SampleData]
    effects: list[EffectData]
    lines: list[str]


class ArmData(TypedDict):
    """An arm that a claim was judged on: its settings in full, and where its runs are stored."""

    label: str
    study: str
    settings: dict[str, Any]
    seeds: list[int]
    keys: list[str]


Record: TypeAlias = dict[str, Any]
"""All that is known of one claim; what it holds is in `results.schema.json`, under `claim`."""


def finding_data(finding: Finding) -> FindingData:
    """A verdict of the judge, or a check of a document, as data."""
    if isinstance(finding, Check):
        return {
            "statement": finding.measured,
            "outcome": finding.outcome.value,
            "scale": "",
            "documented": None,
            "deciding": None,
            "samples": [],
            "effects": [],
            "lines": list(finding.lines),
        }
    weakest = finding.weakest
    return {
        "statement": finding.statement,
        "outcome": finding.outcome.value,
        "scale": finding.scale,
        "documented": finding.documented,
        "deciding": None if weakest is None else finding.effects.index(weakest),
        "samples": [
            {"label": each.label, "fixed": each.is_fixed, "values": _finite(each.values)}
            for each in finding.samples
        ],
        "effects": [_effect_data(effect) for effect in finding.effects],
        "lines": [],
    }


def _effect_data(effect: Effect) -> EffectData:
    estimate, low, high = _finite((effect.estimate, effect.low, effect.high))
    return {
        "label": effect.label,
        "kind": effect.kind,
        "unit": effect.unit,
        "estimate": estimate,
        "low": low,
        "high": high,
        "relation": "<" if effect.below else ">",
        "bound": effect.bound,
        "state": "holds" if effect.holds else "contradicted" if effect.fails else "open",
        "needed": effect.needed,
        "exact": not effect.has_spread,
        "p_for": effect.p_for,
        "p_against": effect.p_against,
        "seeds": effect.seeds,
        "sides": list(effect.sides),
        "per_seed": _finite(effect.per_seed),
    }


def _finite(values: Iterable[float]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values]


def deciding_effect(record: Record) -> tuple[FindingData, EffectData] | None:
    """The finding and the comparison that the verdict of a claim hangs on, if any was judged.

    That of the last finding with the claim's own outcome: a claim of several stands or falls there.
    """
    if record["verdict"] == "not run":
        return None
    judged = [f for f in record["findings"] if f["deciding"] is not None]
    alike = [f for f in judged if f["outcome"] == record["verdict"]]
    for finding in reversed(alike or judged):
        return finding, finding["effects"][finding["deciding"]]
    return None
