"""The command `rekey`: gives stored or packed runs the keys of today's code."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.evidence import EvidenceError
from repro.evidence.file import EvidenceFile
from repro.evidence.pack import pack
from repro.evidence.rekey import FormerRuns, Kind, RekeyedResults, check, kind_of, note
from repro.plugin.reading import collected, named_device, named_store
from repro.recorded.results import WithRecorded
from repro.runs.profiles import PROFILES
from repro.runs.provenance import commit_of
from repro.store import Store
from repro.store.upkeep import items

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession


def add_to(commands: Any) -> None:
    """Add `rekey` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("rekey", help="take runs over to the keys of today's code")
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="evidence files")
    parser.add_argument("--store", metavar="DIR", help="the store's folder (also REPRO_STORE)")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    parser.add_argument(
        "--claims", nargs="+", default=[], metavar="CLAIM", help="files or folders of claims"
    )
    parser.set_defaults(run=_rekey)


def _rekey(chosen: argparse.Namespace) -> int:
    """Check and take over runs; the exit code is 1 where a kind of run cannot be taken over."""
    device = named_device(chosen)
    readings = _readings(chosen, device)
    found = {run: old for reading in readings for run, old in reading.results.found.items()}
    if not found:
        print("Nothing to do: no run has the key of another version of the code.")
        return 0
    retrained: dict[Kind, int] = {}
    refused: dict[Kind, str] = {}
    for kind, count, why in check(found, device=device):
        print(f"{' '.join(kind)}: {why or f'{count} trained again: the same bits'}", flush=True)
        if why:
            refused[kind] = why
        else:
            retrained[kind] = count
    commit = commit_of(Path.cwd())["commit"]
    for path in chosen.files if refused else ():
        shutil.copy2(path, f"{path}.former")
        print(f"{path}.former has what is not taken over")
    for reading in readings:
        notes = {
            run: note(old, retrained[kind], commit=commit)
            for run, old in reading.results.found.items()
            if (kind := kind_of(run, old)) in retrained
        }
        print(reading.take_over(notes))
    for kind, why in refused.items():
        print(f"{' '.join(kind)} is not taken over: {why}", file=sys.stderr)
    return 1 if refused else 0


def _readings(chosen: argparse.Namespace, device: str) -> list[Reading]:
    """Read the claims with the runs of each file; without files, with the store at each profile."""
    root = named_store(chosen)
    if not chosen.files:
        store = Store(root)
        stored = (store.at(item.path.name) for item in items(root, "runs"))
        former = FormerRuns(filter(None, stored))
        sessions = (collected(chosen, store=root, profile=profile) for profile in PROFILES)
        return [Reading(session, former, None, device) for session in sessions]
    readings = []
    for path in chosen.files:
        file = EvidenceFile.read(path)
        former = FormerRuns(file.record(key).result for key in file.lines)
        session = collected(chosen, store=root, profile=file.profile)
        readings.append(Reading(session, former, path, device))
    return readings


class Reading:
    """The runs of one file, or of a store, that claims read under today's keys."""

    def __init__(
        self, session: ClaimSession, former: FormerRuns, path: Path | None, device: str
    ) -> None:
        assert session.training is not None
        self._path, self._profile = path, session.profile.name
        self._count = former.count
        self._store, self._claims = session.training.store, session.names
        self.results = RekeyedResults(self._store, former, device=device, alone=path is not None)
        session.results, session.known = self.results, WithRecorded(self.results)
        session.read_everything()

    def take_over(self, notes: dict[Any, dict[str, Any]]) -> str:
        """Write the runs in `notes` under today's keys; return a sentence about it."""
        self.results.annotate(notes)
        if self._path is None:
            for run in notes:
                result = self.results.get(run)
                former = self._store.at(self.results.found[run].key)
                assert result is not None
                weights = former.weights if former is not None else None
                self._store.put(result.identity, result.values, result.provenance, weights=weights)
            return f"{self._store.root}: {len(notes)} runs of profile {self._profile} taken over"
        runs = [run for run in self.results.read() if run not in self.results.found or run in notes]
        if not runs:
            raise EvidenceError(f"No run of {self._path} can be taken over.")
        packed = pack(
            self._path, runs, profile=self._profile, claims=self._claims, results=self.results
        )
        left_out = self._count - len(packed.lines)
        unread = f"; left out, since no claim reads them: {left_out}" if left_out else ""
        taken_over = f"{len(packed.lines)} runs, {len(notes)} of them taken over"
        return f"wrote {self._path}: {taken_over}{unread}"
