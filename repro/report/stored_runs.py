"""The stored runs behind a session: their curves for the page, and a table of their numbers.

The main process reads them at the end, so that workers need not send them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from repro.recipe import Recipe
from repro.recorded.readers import flat
from repro.report.records import ArmData
from repro.store import Result

LOSS = "loss"

FIRST = ("claim", "study", "arm")
LAST = ("seed", "epoch", "metric", "value")
"""The first and the last columns of the table; between them are the settings of arms."""


class StoredRuns(Protocol):
    """A store, or evidence."""

    def measured(self, key: str) -> Result | None:
        """Return the run with this key; None without one."""


@dataclass
class TrainingCurve:
    """A metric of one arm over training, with the values of each seed."""

    epochs: list[int]
    runs: dict[int, list[float]] = field(default_factory=dict)

    def of(self, seeds: Iterable[int]) -> TrainingCurve:
        """Return the curve over some of its seeds.

        >>> TrainingCurve([1], {3: [0.5], 4: [0.6]}).of([4, 9]).runs
        {4: [0.6]}
        """
        return TrainingCurve(self.epochs, {s: self.runs[s] for s in seeds if s in self.runs})


@dataclass
class ArmRuns:
    """The stored runs of one arm."""

    curves: dict[str, TrainingCurve] = field(default_factory=dict)
    diverged: int = 0
    seconds: float = 0.0
    made_by: list[str] = field(default_factory=list)
    """The commits, versions and machines of the runs, each combination once."""


@dataclass(frozen=True)
class UsedRuns:
    """The arms and the metrics of a claim."""

    claim: str
    arms: Sequence[ArmData]
    metrics: Sequence[str]


def read_runs(arms: Mapping[str, ArmData], *places: StoredRuns) -> dict[str, ArmRuns]:
    """Return the stored runs of each arm; the first place that has a run counts."""
    return {name: _of_arm(arm, places) for name, arm in arms.items()}


def columns_of(claims: Iterable[UsedRuns]) -> list[str]:
    """Return the columns of the table, with each setting in which the arms differ.

    >>> columns_of([])
    ['claim', 'study', 'arm', 'seed', 'epoch', 'metric', 'value']
    """
    arms = {arm.name: _cells(arm) for claim in claims for arm in claim.arms}
    return [*FIRST, *differing(arms.values()), *LAST]


def differing(every: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the settings in which arms differ.

    >>> differing([{"width": 8, "lr": 0.1}, {"width": 16, "lr": 0.1}])
    ['width']
    """
    settings = list(every)
    names = dict.fromkeys(name for each in settings for name in each)
    return [name for name in names if len({repr(each.get(name)) for each in settings}) > 1]


def rows_of(claims: Iterable[UsedRuns], *places: StoredRuns) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of each run: by epoch, and without an epoch for the final value.

    The runs are looked up in `places`; a missing run has no rows. A list metric has a row for each
    element, such as `layer_perplexity[0]`.
    """
    for claim in claims:
        for arm in claim.arms:
            about = {"claim": claim.claim, "study": arm.study, "arm": arm.label, **_cells(arm)}
            for seed, result in _stored(arm, places):
                for metric in claim.metrics:
                    values = result.values["history"].get(metric, [])
                    at = _epochs(arm, metric, result)
                    last = result.values.get("measures", {}).get(metric)
                    for epoch, value in [*zip(at, values, strict=False), (None, last)]:
                        for name, number in _numbers(metric, value):
                            row = {"seed": seed, "epoch": epoch, "metric": name, "value": number}
                            yield about | row


def _of_arm(arm: ArmData, places: Sequence[StoredRuns]) -> ArmRuns:
    runs = ArmRuns()
    for seed, result in _stored(arm, places):
        runs.seconds += result.provenance.get("seconds", 0.0)
        runs.diverged += "diverged_at" in result.values
        made_by = _made_by(result)
        if made_by not in runs.made_by:
            runs.made_by.append(made_by)
        for metric, values in result.values["history"].items():
            if values and not isinstance(values[0], list):
                epochs = _epochs(arm, metric, result)
                curve = runs.curves.setdefault(metric, TrainingCurve(epochs))
                curve.epochs = max(curve.epochs, epochs, key=len)
                curve.runs[seed] = [float("nan") if v is None else float(v) for v in values]
    return runs


def _stored(arm: ArmData, places: Sequence[StoredRuns]) -> Iterator[tuple[int, Result]]:
    """Yield each seed of an arm with its run, from the first place that has it."""
    for seed, key in zip(arm.seeds, arm.keys, strict=True):
        found = (place.measured(key) for place in places)
        if (result := next((each for each in found if each is not None), None)) is not None:
            yield seed, result


def _epochs(arm: ArmData, metric: str, result: Result) -> list[int]:
    """Return the epochs after which a run has a metric; all epochs if nothing else is known."""
    given: list[int] | None = result.values.get("epochs", {}).get(metric)
    if given:
        return given
    settings = arm.settings.get("recipe")
    if settings is None:
        return list(range(1, len(result.values["history"].get(metric, [])) + 1))
    own = {each.name for each in fields(Recipe)} - {"clip"}  # JSON has turned its tuples into lists
    recipe = Recipe(**{name: value for name, value in settings.items() if name in own})
    return [e + 1 for e in range(recipe.epochs) if metric == LOSS or recipe.measures(e)]


def _made_by(result: Result) -> str:
    """Return the commit, versions, engine and machine of a run as one line."""
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


def _cells(arm: ArmData) -> dict[str, Any]:
    """Return the settings of an arm as cells: nested settings by their path, lists as JSON."""
    return {
        f"arm.{name}": json.dumps(value) if isinstance(value, list | tuple) else value
        for name, value in flat(arm.settings).items()
    }


def _numbers(metric: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a value with their names; nothing for None."""
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from _numbers(f"{metric}[{place}]", each)
    elif value is not None:
        yield metric, value
