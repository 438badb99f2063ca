"""The arms of a source on the page: what all of a study share, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from repro.report.page.anchor import anchor
from repro.report.record import ArmData, ClaimRecord
from repro.report.runs import ArmRuns


@dataclass(frozen=True)
class ArmRow:
    """An arm, and the settings in which it differs from others of its study."""

    anchor: str
    label: str
    varying: list[str]
    seeds: list[int]
    runs: ArmRuns


@dataclass(frozen=True)
class Study:
    """The arms of one study: what all of them share, and what differs."""

    name: str
    common: list[tuple[str, str]]
    columns: list[str]
    arms: list[ArmRow]
    made_by: list[str]
    seconds: float


def studies(
    source: str,
    records: Sequence[ClaimRecord],
    arms: Mapping[str, ArmData],
    runs: Mapping[str, ArmRuns],
) -> list[Study]:
    """Return the studies of these claims' arms, each with its arms."""
    of_study: dict[str, dict[str, dict[str, str]]] = {}
    for record in records:
        for name in record.arms:
            arm = arms[name]
            of_study.setdefault(arm.study, {})[name] = _flat(arm.settings)
    return [_study(source, study, settings, arms, runs) for study, settings in of_study.items()]


def _study(
    source: str,
    study: str,
    settings: Mapping[str, Mapping[str, str]],
    arms: Mapping[str, ArmData],
    runs: Mapping[str, ArmRuns],
) -> Study:
    every = list(settings.values())
    columns = list(dict.fromkeys(name for each in every for name in each))
    varying = [
        name for name in columns if any(a.get(name) != b.get(name) for a, b in pairwise(every))
    ]
    return Study(
        name=study,
        common=[(name, every[0][name]) for name in columns if name not in varying],
        columns=varying,
        arms=[
            ArmRow(
                anchor=anchor("arm", source, name),
                label=arms[name].label,
                varying=[flat.get(column, "") for column in varying],
                seeds=arms[name].seeds,
                runs=runs[name],
            )
            for name, flat in settings.items()
        ],
        made_by=list(dict.fromkeys(line for name in settings for line in runs[name].made_by)),
        seconds=sum(runs[name].seconds for name in settings),
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
