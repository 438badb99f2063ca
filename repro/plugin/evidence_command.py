"""The command `evidence`: packs results into a file, adds files to a store, audits a file."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.evidence import EvidenceError
from repro.store import StoreError
from repro.text import shown, shown_lines

if TYPE_CHECKING:
    from repro.evidence.file import EvidenceFile
    from repro.plugin.session import ClaimSession

MOST_NAMED = 10

DEFAULT_STORE = ".repro"
"""The default store, in the current folder."""


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


def add_claims(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select claims, as on pytest's command line."""
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="files, folders or node ids")
    parser.set_defaults(goes_on="claims")
    parser.add_argument("-k", metavar="EXPRESSION", help="claims whose names match, as in pytest")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select runs of claims, as on pytest's command line."""
    parser.add_argument("--seed-budget", metavar="N", help="at most N seeds of each arm")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")


def options_of(chosen: argparse.Namespace, *names: str) -> list[str]:
    """Return the named options of a command as options of pytest."""
    given = {name: getattr(chosen, name) for name in names if getattr(chosen, name) is not None}
    options = [f"--repro-{name.replace('_', '-')}={value}" for name, value in given.items()]
    return [*options, *(("-k", chosen.k) if chosen.k else ())]


def claims_of(chosen: argparse.Namespace) -> list[str]:
    """Return the selected claims; by default the folder `claims`, or else this folder."""
    given: list[str] = chosen.claims
    return given or (["claims"] if Path("claims").is_dir() else ["."])


def named_store(chosen: argparse.Namespace) -> Path:
    """Return the folder that `--store` or the environment names, or else the default.

    >>> named_store(argparse.Namespace(store=None))
    PosixPath('.repro')
    """
    if chosen.store == "":
        raise StoreError("--store has no name of a folder after it; give one.")
    named = chosen.store or os.environ.get("REPRO_STORE") or DEFAULT_STORE
    return Path(os.path.expanduser(named))  # the shell does not expand --store=~/runs


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
    from repro.plugin.reading import with_claims

    options = options_of(chosen, "profile", "seed_budget", "store", "device")
    packed, missing = with_claims(claims_of(chosen), options, partial(_pack_claims, chosen))
    size = chosen.file.stat().st_size
    print(f"wrote {chosen.file}: {len(packed.lines)} runs, {size:,} bytes, {packed.sha256[:12]}")
    for name, count in list(missing.items())[:MOST_NAMED]:
        print(f"{shown(name)} lacks {count} runs that are not stored", file=sys.stderr)
    if len(missing) > MOST_NAMED:
        print(f"and {len(missing) - MOST_NAMED} more claims lack runs", file=sys.stderr)
    return 0


def _pack_claims(
    chosen: argparse.Namespace, session: ClaimSession
) -> tuple[EvidenceFile, dict[str, int]]:
    """Pack the runs of claims; return the file, and the number of missing runs of each claim."""
    from repro.evidence.pack import pack
    from repro.plugin.claims import claim_id
    from repro.plugin.reading import read_everything
    from repro.runs.results import Results

    results = session.results
    assert session.training is not None
    assert isinstance(results, Results)
    names = [claim_id(item) for item in session.trained]
    missing = {claim_id(item): count for item, count in read_everything(session).items()}
    runs = list(results.read())
    if not runs and session.known.files:
        raise EvidenceError(
            f"Nothing is packed: no run of {len(names)} claims was trained here; their runs are"
            f" recorded in {', '.join(session.known.files)}, so send that instead."
        )
    if not runs:
        raise EvidenceError(
            f"Nothing is packed: none of the runs of {len(names)} claims is stored at the profile"
            f" {session.profile.name}; train them first, by pytest."
        )
    packed = pack(
        chosen.file,
        runs,
        profile=session.profile.name,
        claims=names,
        results=results,
        weights_of=session.training.store if chosen.weights else None,
    )
    return packed, missing


def _add(chosen: argparse.Namespace) -> int:
    """Add the runs of files to a store; the exit code is 1 where a run contradicts the store."""
    from repro.evidence.pack import add
    from repro.evidence.results import EvidenceResults
    from repro.store import Store

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
    from repro.core.device import resolve_device
    from repro.evidence.file import EvidenceFile
    from repro.plugin.reading import with_claims

    profile = EvidenceFile.read(chosen.file).profile
    evidence = [f"--repro-evidence={chosen.file}", f"--repro-profile={profile}"]
    options = [*evidence, *options_of(chosen, "seed_budget")]
    use = partial(_audit_claims, chosen, resolve_device(chosen.device))
    return with_claims(claims_of(chosen), options, use)


def _audit_claims(chosen: argparse.Namespace, device: str, session: ClaimSession) -> int:
    from repro.evidence.audit import audit, audit_lines, frame_of
    from repro.evidence.results import EvidenceResults
    from repro.plugin.reading import read_everything
    from repro.runs.identity import name_of

    assert isinstance(session.results, EvidenceResults)
    read_everything(session)
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
    return 0 if all(each.is_clean for each in sample) else 1
