"""The arms of a source on the page: what all of a study share, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from repro.report.record import ArmData, ClaimRecord
from repro.report.runs import ArmRuns


@dataclass(frozen=True)
class ArmRow:
    """An arm, and the settings in which it differs from others of its study."""

    name: str
    arm: ArmData
    runs: ArmRuns
    varying: list[str]


@dataclass(frozen=True)
class Study:
    """The arms of one study: what all of them share, and what differs."""

    name: str
    common: list[tuple[str, str]]
    columns: list[str]
    arms: list[ArmRow]

    @property
    def made_by(self) -> list[str]:
        return list(dict.fromkeys(line for row in self.arms for line in row.runs.made_by))

    @property
    def seconds(self) -> float:
        return sum(row.runs.seconds for row in self.arms)


def studies(
    records: Sequence[ClaimRecord],
    arms: Mapping[str, ArmData],
    runs: Mapping[str, ArmRuns],
) -> list[Study]:
    """Return the studies of these claims' arms, each with its arms."""
    of_study: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for record in records for name in record.arms):
        of_study.setdefault(arms[name].study, []).append(name)
    return [_study(study, names, arms, runs) for study, names in of_study.items()]


def _study(
    study: str,
    names: Sequence[str],
    arms: Mapping[str, ArmData],
    runs: Mapping[str, ArmRuns],
) -> Study:
    settings = [_flat(arms[name].settings) for name in names]
    columns = list(dict.fromkeys(column for each in settings for column in each))
    varying = [column for column in columns if len({each.get(column) for each in settings}) > 1]
    return Study(
        name=study,
        common=[(column, settings[0][column]) for column in columns if column not in varying],
        columns=varying,
        arms=[
            ArmRow(name, arms[name], runs[name], [each.get(c, "") for c in varying])
            for name, each in zip(names, settings, strict=True)
        ],
    )


def _flat(settings: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Return settings as text; those of a mapping are called by their path.

    >>> _flat({"width": 64, "recipe": {"lr": 0.001}})
    {'width': '64', 'recipe.lr': '0.001'}
    """
    flat: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = written(value)
    return flat


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
