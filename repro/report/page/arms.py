"""The arms of a source on the page: what all of a study share, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from repro.recorded.readers import flat
from repro.report.record import ArmData, ClaimRecord
from repro.report.runs import ArmRuns


@dataclass(frozen=True)
class Study:
    """The arms of one study with their runs: what all of them share, and what differs."""

    name: str
    arms: dict[str, ArmData]
    runs: Mapping[str, ArmRuns]

    @cached_property
    def settings(self) -> dict[str, dict[str, str]]:
        """The settings of each arm as text."""
        return {
            name: {setting: written(value) for setting, value in flat(arm.settings).items()}
            for name, arm in self.arms.items()
        }

    @cached_property
    def columns(self) -> list[str]:
        """The settings in which arms differ."""
        every = self.settings.values()
        names = dict.fromkeys(name for each in every for name in each)
        return [name for name in names if len({each.get(name) for each in every}) > 1]

    @property
    def common(self) -> list[tuple[str, str]]:
        """The settings that all arms share."""
        first = next(iter(self.settings.values()))
        return [(name, value) for name, value in first.items() if name not in self.columns]

    @property
    def made_by(self) -> list[str]:
        return list(dict.fromkeys(line for name in self.arms for line in self.runs[name].made_by))

    @property
    def seconds(self) -> float:
        return sum(self.runs[name].seconds for name in self.arms)


def studies(
    records: Sequence[ClaimRecord], arms: Mapping[str, ArmData], runs: Mapping[str, ArmRuns]
) -> list[Study]:
    """Return the studies of these claims' arms, each with its arms."""
    of_study: dict[str, Study] = {}
    for name in (name for record in records for name in record.arms):
        study = arms[name].study
        of_study.setdefault(study, Study(study, {}, runs)).arms[name] = arms[name]
    return list(of_study.values())


def written(value: Any) -> str:
    """Return the value of a setting as text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(written, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):  # asked for by type: 1 is no yes
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers as text, consecutive ones as a range.

    >>> ranges([42, 1, 2, 3, 7])
    '42, 1–3, 7'
    """
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ", ".join(f"{r[0]}–{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in rows)
