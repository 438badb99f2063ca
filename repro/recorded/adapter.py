"""The results of recorded runs, which claims read like those of trained ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repro.arm import Arm, Needs, Run
from repro.recorded.runs import Number, RecordedRun
from repro.recorded.source import RecordedArm
from repro.runs.identity import name_of
from repro.runs.results import KnownResults, TrainingFailed
from repro.store import Result, run_key

RunsByKey = dict[str, tuple[dict[str, Any], dict[str, Any]]]
"""The values and the provenance of recorded runs, by key."""


@dataclass(frozen=True)
class RecordedRuns:
    """The recorded runs that the processes of a session have read; a report reads it as a store."""

    of_processes: Sequence[RunsByKey]

    def measured(self, key: str) -> Result | None:
        found = next((runs[key] for runs in self.of_processes if key in runs), None)
        return None if found is None else Result(key, {}, *found)


@dataclass
class WithRecorded:
    """Recorded results, and the results of a session.

    `used` collects the recorded runs that claims read.
    """

    session: KnownResults
    used: dict[RecordedArm, dict[int, Result]] = field(default_factory=dict)

    def located(self, arm: Arm) -> Arm:
        return arm.located() if isinstance(arm, RecordedArm) else self.session.located(arm)

    def require_sound(self, arm: Arm) -> None:
        if not isinstance(arm, RecordedArm):
            self.session.require_sound(arm)

    def get(self, run: Run) -> Result | None:
        if not isinstance(run.arm, RecordedArm):
            return self.session.get(run)
        of_arm = run.arm.source.runs(run.arm.chosen).runs
        if run.seed not in of_arm:
            return None
        used = self.used.setdefault(run.arm, {})
        if run.seed not in used:
            used[run.seed] = _result(run.arm, run.seed, of_arm[run.seed])
        return used[run.seed]

    def failed(self, run: Run) -> TrainingFailed | None:
        return None if isinstance(run.arm, RecordedArm) else self.session.failed(run)

    def missing_error(self, runs: Iterable[Run]) -> Exception:
        missing = list(runs)
        recorded = [run for run in missing if isinstance(run.arm, RecordedArm)]
        if not recorded:
            return self.session.missing_error(missing)
        return Needs(f"needs {name_of(recorded[0])}, which {recorded[0].arm.data} does not have")

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        """Return the session's remarks on trained runs; for recorded runs see `remarks_on`."""
        return self.session.remarks(run for run in runs if not isinstance(run.arm, RecordedArm))

    def by_key(self) -> RunsByKey:
        """Return the used runs, for the process that writes the report."""
        return {
            each.key: (each.values, each.provenance)
            for used in self.used.values()
            for each in used.values()
        }

    @property
    def files(self) -> dict[str, list[str]]:
        """The keys of the used runs, by the files and the hash of their source."""
        files: dict[str, list[str]] = {}
        for arm, used in self.used.items():
            files.setdefault(arm.source.content, []).extend(each.key for each in used.values())
        return files


def recorded_lines(accounts: Iterable[Mapping[str, Iterable[str]]]) -> list[str]:
    """Return lines with the number of recorded runs that a session has used of each source.

    >>> recorded_lines([{"results.csv (sha256 12ab)": ["key"]}])
    ['judged as recorded: 1 runs of results.csv (sha256 12ab)']
    """
    files: dict[str, set[str]] = {}
    for account in accounts:
        for name, keys in account.items():
            files.setdefault(name, set()).update(keys)
    return [f"judged as recorded: {len(keys)} runs of {name}" for name, keys in files.items()]


def _result(arm: RecordedArm, seed: int, run: RecordedRun) -> Result:
    source = arm.source
    measures = {
        name: _counted(run.measures.get(name), source.diverged.get(name)) for name in source.metrics
    }
    history = {name: list(curve.values()) for name, curve in run.curves.items()}
    values = {"measures": measures, "history": history, "steps": 0}
    identity = {"arm": arm.settings(), "row": values, "seed": seed}
    file = run.first.file
    made = {"recorded": run.first.place, "file": file.name, "sha256": file.sha256}
    curves = {name: sorted(curve) for name, curve in run.curves.items()}
    stored = {**values, "epochs": curves} if curves else values
    return Result(run_key(identity), identity, stored, made)


def _counted(value: Number, instead: float | None) -> Number:
    if isinstance(value, list):
        return [instead if each is None else each for each in value]
    return instead if value is None else value
