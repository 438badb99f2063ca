"""The results of recorded runs, for claims to read beside those that are trained."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from repro.arm import Arm, Needs, Run
from repro.code import Modules, Root, digest, reached
from repro.recorded.arm import RecordedArm
from repro.recorded.cells import Number
from repro.recorded.read_files import Read
from repro.recorded.runs import RecordedRun
from repro.runs.identity import name_of
from repro.runs.results import KnownResults
from repro.store import Result, Store
from repro.store.key import plain


@dataclass
class WithRecorded:
    """Results that are recorded, and behind them those of a session.

    `used` grows with the recorded runs that claims read.
    """

    session: KnownResults
    used: dict[Run, Result] = field(default_factory=dict)

    def located(self, arm: Arm) -> Arm:
        return arm.located() if isinstance(arm, RecordedArm) else self.session.located(arm)

    def require_sound(self, arm: Arm) -> None:
        if not isinstance(arm, RecordedArm):
            self.session.require_sound(arm)

    def get(self, run: Run) -> Result | None:
        if not isinstance(run.arm, RecordedArm):
            return self.session.get(run)
        if run not in self.used:
            of_arm = run.arm.source.runs(run.arm.chosen).runs
            if run.seed not in of_arm:
                return None
            self.used[run] = _result(run.arm, run.seed, of_arm[run.seed])
        return self.used[run]

    def key(self, run: Run) -> str:
        if not isinstance(run.arm, RecordedArm):
            return self.session.key(run)
        result = self.get(run)
        assert result is not None, f"{name_of(run)} is not recorded"
        return result.key

    def failed(self, run: Run) -> str | None:
        return None if isinstance(run.arm, RecordedArm) else self.session.failed(run)

    @property
    def details(self) -> Mapping[Run, str]:
        return self.session.details

    def lacking(self, runs: Iterable[Run]) -> Exception:
        lacking = list(runs)
        recorded = [run for run in lacking if isinstance(run.arm, RecordedArm)]
        if not recorded:
            return self.session.lacking(lacking)
        return Needs(f"needs {name_of(recorded[0])}, which {recorded[0].arm.data} does not have")

    def remarks(self, runs: Iterable[Run]) -> list[str]:
        trained, lines = [], []
        for run in runs:
            if isinstance(run.arm, RecordedArm):
                lines += _not_finite(run.arm, run.seed)
            else:
                trained.append(run)
        return [*lines, *self.session.remarks(trained)]

    def keep(self, store: Store, arms: Iterable[Arm]) -> None:
        """Put the recorded runs of these arms into a store, where a report finds their curves."""
        for run, result in self.used.items():
            if run.arm in arms and store.at(result.key) is None:
                store.put(result.identity, result.values, result.provenance)

    @property
    def files(self) -> dict[str, list[str]]:
        """The keys of the runs that were read of each source, by its files and their hash."""
        files: dict[str, list[str]] = {}
        for run, result in self.used.items():
            assert isinstance(run.arm, RecordedArm)
            files.setdefault(run.arm.source.content, []).append(result.key)
        return files


def recorded_lines(accounts: Iterable[Mapping[str, Iterable[str]]]) -> list[str]:
    """Say which recorded runs all processes of a session read, and from which files.

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
    head, about = _identity_of(arm)
    identity = {**about, "row": values, "seed": seed}
    made = {"recorded": run.place, "file": run.file.name, "sha256": run.file.sha256}
    curves = {name: sorted(curve) for name, curve in run.curves.items()}
    values = {**values, "epochs": curves} if curves else values
    row = json.dumps(identity["row"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    key = hashlib.sha256(f'{head},"row":{row},"seed":{seed}}}'.encode()).hexdigest()
    return Result(key, identity, values, made)


@cache
def _identity_of(arm: RecordedArm) -> tuple[str, dict[str, object]]:
    """Return what the identities of an arm's runs share: as the text that begins their keys' own.

    A key is that of `run_key`, put together here since most of its text is the same each time.
    """
    about: dict[str, object] = {"arm": arm.settings(), "code": _reader_of(arm.source.read)}
    text = json.dumps(
        plain(about, "arm"), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return text.removesuffix("}"), about


def _counted(value: Number, instead: float | None) -> Number:
    if isinstance(value, list):
        return [instead if each is None else each for each in value]
    return instead if value is None else value


def _not_finite(arm: RecordedArm, seed: int) -> list[str]:
    """Name a run that has no value of a metric, or none that is finite, and what it counts as."""
    run, lines = arm.source.runs(arm.chosen).runs[seed], []
    for name in arm.source.metrics:
        value = run.measures.get(name)
        if value is None or (isinstance(value, list) and None in value):
            has = f"no finite {name}" if name in run.measures else f"no {name}"
            instead = arm.source.diverged.get(name)
            counts = "say in diverged= what that counts as"
            if instead is not None:
                counts = f"that counts as {instead:g}"
            lines.append(f"{arm.label}, seed {seed} ({run.where}) has {has}: {counts}")
    return lines


def _reader_of(read: Read | None) -> str:
    """Return a digest of the code that reads a source: with the user's reader, if there is one."""
    roots = {Root("repro.recorded.runs", "runs_of"), Root("repro.recorded.table", "read_table")}
    if read is not None and hasattr(read, "__qualname__"):
        roots.add(Root(read.__module__, read.__qualname__))
    return _digest(frozenset(roots), frozenset(root.module.partition(".")[0] for root in roots))


@cache
def _digest(roots: frozenset[Root], packages: frozenset[str]) -> str:
    return digest(reached(sorted(roots, key=str), Modules(packages)))
