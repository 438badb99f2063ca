"""The command `evidence`: packs results into a file, adds files to a store, audits a file."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.arm import Run
from repro.backends.places import cores
from repro.code.trace import Trace
from repro.commands.collecting import add_claims, collected, named_device, named_store
from repro.evidence import EvidenceError
from repro.evidence.audit import audit, audit_lines, frame_of, use_starts
from repro.evidence.file import EvidenceFile, record_of
from repro.evidence.pack import add, pack, without_paths, write
from repro.evidence.reader import EvidenceResults
from repro.evidence.renew import (
    EARLIER,
    Group,
    TrainedAgain,
    WithFormer,
    choose,
    groups_of,
    renewed,
    with_settings,
)
from repro.recorded.adapter import WithRecorded
from repro.runs.identity import name_of
from repro.runs.profiles import PROFILES
from repro.runs.provenance import commit_of
from repro.runs.results import Results
from repro.store import Result, Store
from repro.text import shown, shown_lines

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession

MOST_NAMED = 10


def add_to(commands: Any) -> None:
    """Add `evidence` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("evidence", help="pack results into a file, add or audit them")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    packing = actions.add_parser("pack", help="write the results behind claims into one file")
    packing.add_argument("file", type=Path, metavar="FILE", help="the file to write")
    add_claims(packing)
    _add_runs(packing)
    packing.add_argument("--profile", default="ci", help="ci (default) or paper")
    packing.add_argument("--store", metavar="DIR", help="where results are kept (also REPRO_STORE)")
    packing.add_argument(
        "--weights", action="store_true", help="also pack parameters that other runs start from"
    )
    packing.set_defaults(run=_pack)
    adding = actions.add_parser("add", help="put the runs of files into the local store")
    adding.add_argument("files", type=Path, nargs="+", metavar="FILE", help="the files to add")
    adding.add_argument("--store", metavar="DIR", help="the store's folder (also REPRO_STORE)")
    adding.set_defaults(run=_add)

    auditing = actions.add_parser("audit", help="train a random sample of a file's runs again")
    auditing.add_argument("file", type=Path, metavar="FILE", help="the file to check")
    add_claims(auditing)
    _add_runs(auditing)
    auditing.add_argument("--runs", type=_count, default=29, help="runs to draw (default 29)")
    auditing.add_argument(
        "--minutes", type=_minutes, default=5.0, help="the minutes that it may take (default 5)"
    )
    auditing.add_argument("--seed", type=int, help="draw the same runs again (default: random)")
    auditing.set_defaults(run=_audit)

    renewing = actions.add_parser("renew", help="take runs of earlier code over to today's")
    renewing.add_argument("files", type=Path, nargs="*", metavar="FILE", help="evidence files")
    renewing.add_argument("--store", metavar="DIR", help="the store's folder (also REPRO_STORE)")
    renewing.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    renewing.add_argument(
        "--minutes", type=_minutes, default=2.0, help="of a run that may be drawn (default 2)"
    )
    renewing.add_argument(
        "--claims", nargs="+", default=[], metavar="CLAIM", help="files or folders of claims"
    )
    renewing.set_defaults(run=_renew)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select runs of claims, as on pytest's command line."""
    parser.add_argument("--seed-budget", metavar="N", help="at most N seeds of each arm")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < 1e6:
        raise ValueError
    return minutes


def _pack(chosen: argparse.Namespace) -> int:
    """Pack the stored runs of claims, and name the claims that lack some."""
    session = collected(chosen, "profile", "seed_budget", "store", "device")
    results = session.results
    assert isinstance(results, Results)
    missing = session.read_everything()
    runs = list(results.read())
    if not runs and session.known.files:
        raise EvidenceError(
            f"Nothing is packed: no run of {len(session.names)} claims was trained here; their runs"
            f" are recorded in {', '.join(session.known.files)}, so send that instead."
        )
    if not runs:
        raise EvidenceError(
            f"Nothing is packed: none of the runs of {len(session.names)} claims is stored at the"
            f" profile {session.profile.name}; train them first, by pytest."
        )
    packed = pack(
        chosen.file,
        runs,
        profile=session.profile.name,
        claims=session.names,
        results=results,
        weights_of=session.store if chosen.weights else None,
    )
    size = chosen.file.stat().st_size
    print(f"wrote {chosen.file}: {len(packed.lines)} runs, {size:,} bytes, {packed.sha256[:12]}")
    for name, count in list(missing.items())[:MOST_NAMED]:
        print(f"{shown(name)} lacks {count} runs that are not stored", file=sys.stderr)
    if len(missing) > MOST_NAMED:
        print(f"and {len(missing) - MOST_NAMED} more claims lack runs", file=sys.stderr)
    return 0


def _add(chosen: argparse.Namespace) -> int:
    """Add the runs of files to a store; the exit code is 1 where a run contradicts the store."""
    root = named_store(chosen)
    store = Store(root)
    is_whole = True
    for file in EvidenceResults.read(chosen.files, project=Path.cwd()).files:
        done = add(file, store)
        print(f"{file.path}: {done.added} runs added to {root}, {done.stored} were there already")
        if done.without_weights:
            print(
                f"{done.without_weights} runs are left out, since others start from their"
                " parameters, which are not in the file (pack it with --weights)"
            )
        if done.earlier:
            print(
                f"{done.earlier} runs are left out, since they do not say what made them: take them"
                f" over by `python -m repro evidence renew {file.path}`"
            )
        for name in done.others[:MOST_NAMED]:
            print(f"the store has another result of {shown(name)}, which stays", file=sys.stderr)
        is_whole &= not done.others
    return 0 if is_whole else 1


def _audit(chosen: argparse.Namespace) -> int:
    """Train runs of a file again; the exit code is 1 where a result differs, or is impossible."""
    device = named_device(chosen)
    profile = EvidenceFile.read(chosen.file).profile
    session = collected(chosen, "seed_budget", evidence=chosen.file, profile=profile)
    assert isinstance(session.results, EvidenceResults)
    session.read_everything()
    faults = session.results.faults
    for fault in faults.values():
        print(shown(f"WRONG  {fault}"))
    seconds = 60 * chosen.minutes
    frame = frame_of(session.results, device=device, longest=seconds)
    if not frame.drawable:
        why = "; ".join(f"{count} {why}" for why, count in frame.left_out.items())
        raise EvidenceError(f"No run of {chosen.file} can be trained again here: {why}.")
    seed = secrets.randbelow(2**31) if chosen.seed is None else chosen.seed
    draws, sample = min(chosen.runs, len(frame.drawable)), []
    for checked in audit(frame, draws=draws, seconds=seconds, seed=seed):
        sample.append(checked)
        place = f"{len(sample):>4}/{draws} {checked.seconds:6.1f} s"
        print(shown(f"{place}  {name_of(checked.run)}: {checked.finding}"), flush=True)
    for line in [*session.results.repeat_lines(), *audit_lines(frame, sample, seed=seed)]:
        print(shown_lines(line))
    return 0 if not faults and all(each.is_clean for each in sample) else 1


def _renew(chosen: argparse.Namespace) -> int:
    """Renew runs of files, or of the store; the exit code is 1 where some cannot be renewed."""
    device, root = named_device(chosen), named_store(chosen)
    readings = [_Reading.of_file(chosen, path) for path in chosen.files]
    if not readings:
        readings = [_Reading.of_store(chosen, root, profile, device) for profile in PROFILES]
    groups = groups_of({run: old for each in readings for run, old in each.found.items()})
    if not groups:
        print("Nothing to do: no run was made by earlier code.")
        return 0
    project = readings[0].project
    choose(groups, device=device, seconds=60 * chosen.minutes)
    again = TrainedAgain(device=device, trainers=cores(), project=project)
    for group in again.train(groups):
        same = "the same but for rounding" if group.is_rounded else "the same bits"
        print(shown(f"{group}: {group.why or f'{len(group.chosen)} trained again: {same}'}"))
    commit = str(commit_of(project)["commit"] or "no commit")
    for reading in readings:
        print(reading.renew(groups, again, commit=commit))
    refused = [group for group in groups if group.why]
    for group in refused:
        print(shown(f"{group} stay runs of earlier code: {group.why}"), file=sys.stderr)
    return 1 if refused else 0


@dataclass
class _Reading:
    """The runs of one file, or of a store at one profile, that claims use."""

    session: ClaimSession
    found: dict[Run, tuple[Result, Sequence[str]]]
    """The runs of earlier code, each with what has changed."""
    path: Path | None

    @classmethod
    def of_file(cls, chosen: argparse.Namespace, path: Path) -> _Reading:
        profile = EvidenceFile.read(path).profile
        session = collected(chosen, evidence=path, profile=profile)
        results = session.results
        assert isinstance(results, EvidenceResults)
        session.read_everything()
        use_starts(results)
        found: dict[Run, tuple[Result, Sequence[str]]] = {
            run: (record.result, changes)
            for run, (_, record) in results.used.items()
            if (changes := results.changes(run) or [EARLIER] * record.is_earlier)
        }
        return cls(session, found, path)

    @classmethod
    def of_store(
        cls, chosen: argparse.Namespace, root: Path, profile: str, device: str
    ) -> _Reading:
        session = collected(chosen, store=root, profile=profile)
        assert session.store is not None
        results = WithFormer(session.store, device=device, project=session.project)
        session.results, session.known = results, WithRecorded(results)
        session.read_everything()
        return cls(session, results.found, None)

    @property
    def project(self) -> Path:
        return self.session.project

    def renew(self, groups: Sequence[Group], again: TrainedAgain, *, commit: str) -> str:
        """Write the renewed runs in place of the former ones; return a sentence about it."""
        traces: dict[str, Trace] = {}
        new: dict[Run, Result] = {}
        for group in groups:
            trace = {} if group.why else again.trace_of(group)
            if self.path is not None:
                trace = without_paths(trace)
            for run, old in group.runs.items() if trace else ():
                if run in self.found:
                    new[run] = renewed(run, old, group, trace, commit=commit)
                    traces[new[run].made.trace] = trace
        if self.path is None:
            return self._into_store(new, traces)
        results = self.session.results
        assert isinstance(results, EvidenceResults)
        [file] = results.files
        records = [
            record_of(run, new[run]) if run in new else with_settings(run, record)
            for run, (_, record) in results.used.items()
        ]
        for record in records:
            traces.setdefault(record.made.trace, {})
        traces = {digest: trace or file.trace(digest) for digest, trace in traces.items()}
        write(self.path, records, traces, profile=file.profile, claims=self.session.names)
        left_out = len(file.lines) - len(records)
        unread = f"; left out, since no claim reads them: {left_out}" if left_out else ""
        return f"wrote {self.path}: {len(records)} runs, {len(new)} of them renewed{unread}"

    def _into_store(self, new: Mapping[Run, Result], traces: Mapping[str, Trace]) -> str:
        store = self.session.store
        assert store is not None
        for trace in traces.values():
            store.put_trace(trace)
        for run, result in new.items():
            former = store.at(self.found[run][0].key)
            weights = former.weights if former is not None else None
            store.put(
                result.identity,
                result.values,
                result.provenance,
                weights=weights,
                made=result.made,
            )
        return f"{store.root}: {len(new)} runs of profile {self.session.profile.name} renewed"
