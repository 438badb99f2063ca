"""The command `evidence`: packs results into a file, adds files to a store, audits a file."""

from __future__ import annotations

import argparse
import secrets
import sys
from pathlib import Path
from typing import Any

from repro.evidence import EvidenceError
from repro.evidence.audit import audit, audit_lines, frame_of
from repro.evidence.file import EvidenceFile
from repro.evidence.pack import add, pack
from repro.evidence.results import EvidenceResults
from repro.plugin.reading import add_claims, collected, named_device, named_store
from repro.runs.identity import name_of
from repro.runs.results import Results
from repro.store import Store
from repro.text import shown, shown_lines

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
    assert session.training is not None
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
        weights_of=session.training.store if chosen.weights else None,
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
    for file in EvidenceResults.read(chosen.files).files:
        done = add(file, store)
        print(f"{file.path}: {done.added} runs added to {root}, {done.stored} were there already")
        if done.without_weights:
            print(
                f"{done.without_weights} runs are left out, since others start from their"
                " parameters, which are not in the file (pack it with --weights)"
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
