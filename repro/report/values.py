"""The measured values of a claim in tables: those of its arms, and the deciding comparison.

Shares are in percent where the source writes percent.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from repro.report.record import ArmData, ClaimRecord, FindingData, deciding_effect

_NUMBER = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?)(?![\d.]|,\d)(\s?%)?")


@dataclass(frozen=True)
class ArmValue:
    """The value of one arm over its seeds."""

    label: str
    mean: float
    least: float
    most: float
    unit: str
    """The metric; empty where the claim does not tell which of several it is."""
    in_percent: bool

    @property
    def varies(self) -> bool:
        return self.least < self.most


@dataclass(frozen=True)
class Measurement:
    """The deciding comparison of a claim."""

    label: str
    unit: str
    estimate: float
    interval: tuple[float, float] | None
    word: str
    """Its kind, in a word."""
    in_percent: bool


def arm_values(record: ClaimRecord, arms: Mapping[str, ArmData]) -> list[ArmValue]:
    """Return the value of every arm that a claim compares, as the claim asks for them."""
    values: list[ArmValue] = []
    for finding in record.findings:
        in_percent = is_in_percent(record, finding)
        for place, sample in enumerate(finding.samples):
            known = [value for value in sample.values if value is not None]
            if sample.fixed or not known:
                continue
            factor = 100 if in_percent else 1
            values.append(
                ArmValue(
                    label=sample.label,
                    mean=factor * statistics.fmean(known),
                    least=factor * min(known),
                    most=factor * max(known),
                    unit=_unit(record, finding, place),
                    in_percent=in_percent,
                )
            )
    labels = [arms[name].label for name in record.arms if name in arms]
    return sorted(dict.fromkeys(values), key=lambda value: _place(value.label, labels))


def measurement_of(record: ClaimRecord) -> Measurement | None:
    """Return the deciding comparison of a claim; None where none was judged."""
    decided = deciding_effect(record)
    if decided is None:
        return None
    finding, effect = decided
    if effect.estimate is None:
        return None
    low, high = effect.low, effect.high
    in_percent = effect.kind in ("difference", "run") and is_in_percent(record, finding)
    in_percent = in_percent and effect.unit != "ratio"
    factor = 100 if in_percent else 1
    interval = (factor * low, factor * high) if low is not None and high is not None else None
    word = "ratio" if effect.unit == "ratio" else effect.kind
    return Measurement(
        label=effect.label,
        unit=effect.unit.replace("_", " "),
        estimate=factor * effect.estimate,
        interval=None if effect.exact else interval,
        word="one run" if word == "run" else word,
        in_percent=in_percent,
    )


def writes_percent(documented: str) -> bool:
    """Return whether a source writes shares as percent: by its sign, or by numbers above one.

    >>> writes_percent("70.0 and 71.02"), writes_percent("0.652 of it (34.8% saved)")
    (True, False)
    """
    numbers = [(float(number), bool(sign)) for number, sign in _NUMBER.findall(documented)]
    if any(0 < number < 1 and not sign for number, sign in numbers):
        return False
    return any(sign or 1 < number <= 100 for number, sign in numbers)


def is_in_percent(record: ClaimRecord, finding: FindingData) -> bool:
    """Return whether the values of a finding are shares that are shown in percent.

    Shares are compared as log-odds, or are means over examples that lie between 0 and 1.
    """
    measured = [each for each in finding.samples if not each.fixed]
    values = [value for each in measured for value in each.values if value is not None]
    are_means = finding.scale == "identity" and all(each.examples for each in measured)
    are_shares = finding.scale == "log-odds" or (
        are_means and all(0 <= value <= 1 for value in values)
    )
    return are_shares and writes_percent(record.documented)


def _unit(record: ClaimRecord, finding: FindingData, place: int) -> str:
    units = {each.unit for each in finding.effects if place in each.sides} - {"ratio"}
    named = units & set(record.metrics) or set(record.metrics)
    return next(iter(named)).replace("_", " ") if len(named) == 1 else ""


def _place(label: str, arms: list[str]) -> int:
    """Return the place of the arm that a label begins with, the longest of several."""
    alike = [arm for arm in arms if label.startswith(arm)]
    return arms.index(max(alike, key=len)) if alike else len(arms)
