"""The stored runs of the arms of a session: their curves, and where they were trained.

They are read once, at the end and by one process, so that workers need not send them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from repro.recipe import Recipe
from repro.report.record import ArmData
from repro.store import Result

LOSS = "loss"


class StoredRuns(Protocol):
    """A store, or evidence that is read like one."""

    def measured(self, key: str) -> Result | None:
        """Return the run of a key; None where there is none."""


@dataclass
class TrainingCurve:
    """A metric of one arm over training: one row of values for each run, as far as it went."""

    epochs: list[int]
    runs: list[list[float]] = field(default_factory=list)


@dataclass
class ArmRuns:
    """The stored runs of one arm."""

    curves: dict[str, TrainingCurve] = field(default_factory=dict)
    diverged: int = 0
    seconds: float = 0.0
    made_by: list[str] = field(default_factory=list)
    """Commit, versions and machine of the runs, each combination once."""


def read_runs(arms: Mapping[str, ArmData], *places: StoredRuns) -> dict[str, ArmRuns]:
    """Return the stored runs of each arm; of several places the first that has a run counts."""
    return {name: _read(arm, places) for name, arm in arms.items()}


def _read(arm: ArmData, places: Sequence[StoredRuns]) -> ArmRuns:
    runs = ArmRuns()
    for key in arm.keys:
        result = stored(key, places)
        if result is None:
            continue
        runs.seconds += result.provenance.get("seconds", 0.0)
        runs.diverged += "diverged_at" in result.values
        made_by = _made_by(result)
        if made_by not in runs.made_by:
            runs.made_by.append(made_by)
        for metric, values in result.values["history"].items():
            if values and not isinstance(values[0], list):
                epochs = epochs_known(arm, metric, result)
                if metric not in runs.curves:
                    runs.curves[metric] = TrainingCurve(epochs)
                elif len(epochs) > len(runs.curves[metric].epochs):
                    runs.curves[metric].epochs = epochs
                numbers = [float("nan") if v is None else float(v) for v in values]
                runs.curves[metric].runs.append(numbers)
    return runs


def stored(key: str, places: Sequence[StoredRuns]) -> Result | None:
    """Return the run of a key in the first place that has it; None where none has."""
    found = (place.measured(key) for place in places)
    return next((each for each in found if each is not None), None)


def epochs_known(arm: ArmData, metric: str, result: Result) -> list[int]:
    """Return the epochs at whose end a run tells a metric; all of them where nobody says which."""
    given: list[int] | None = result.values.get("epochs", {}).get(metric)
    if given:
        return given
    settings = arm.settings.get("recipe")
    if settings is None:
        return list(range(1, len(result.values["history"].get(metric, [])) + 1))
    own = {each.name for each in fields(Recipe)} - {"clip"}  # its stages are lists by now
    recipe = Recipe(**{name: value for name, value in settings.items() if name in own})
    return [e + 1 for e in range(recipe.epochs) if metric == LOSS or recipe.measures(e)]


def _made_by(result: Result) -> str:
    """Return the commit, versions, engine and machine of a run as one line for a reader."""
    made: dict[str, Any] = result.provenance
    if "recorded" in made:
        return f"recorded in {made['file']}, SHA-256 {made['sha256']}"
    commit = (made.get("commit") or "no commit")[:10]
    changes = " with uncommitted changes" if made.get("uncommitted_changes") else ""
    packages = [f"{name} {version}" for name, version in made.get("packages", {}).items()]
    return ", ".join(
        [
            f"{commit}{changes}",
            f"Python {made.get('python', '?')}",
            *packages,
            f"{made.get('engine', '?')} engine",
            f"{result.identity.get('device', '?')} ({made.get('machine', '?')})",
        ]
    )
