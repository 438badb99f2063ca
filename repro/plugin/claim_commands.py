"""Commands that read claims: `run` trains a run of each arm, `table` writes the runs behind claims.

Neither writes into a store or a ledger.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from repro.arm import Run
from repro.evidence import EvidenceError
from repro.evidence.audit import Again, NotTrained
from repro.evidence.results import EvidenceResults
from repro.files import explained
from repro.plugin.reading import add_claims, collected, named_device
from repro.recorded.results import RecordedRuns
from repro.recorded.source import RecordedArm
from repro.report.runs import StoredRuns, UsedRuns, columns_of, rows_of
from repro.report.write import write_table
from repro.runs.identity import name_of
from repro.text import shown


def add_run(commands: Any) -> None:
    """Add `run` to the commands of a parser.

    >>> add_run(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("run", help="train one run of each arm of a claim, to be seen")
    add_claims(parser)
    parser.add_argument("--seed", type=int, help="the seed (default: the first of each arm)")
    parser.add_argument("--profile", help="ci (default) or paper")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    """Train a run of each arm; the exit code is 1 where one failed."""
    device, session = named_device(chosen), collected(chosen, "profile")
    arms = dict.fromkeys(arm for item in session.trained for arm in session.read_ahead(item).arms)
    runs = [
        Run(arm, arm.seeds(1)[0] if chosen.seed is None else chosen.seed)
        for arm in arms
        if not isinstance(arm, RecordedArm)
    ]
    if not runs:
        raise EvidenceError("Nothing to train: these claims have no arms that train.")
    again, has_failed = Again({}, device=device, shows=True), False
    for run in runs:
        print(shown(name_of(run)), flush=True)
        try:
            for name, value in again.values(run).get("measures", {}).items():
                print(shown(f"  {name} {value}"), flush=True)
        except NotTrained as error:
            has_failed = True
            print(error, flush=True)
    return int(has_failed)


def add_table(commands: Any) -> None:
    """Add `table` to the commands of a parser.

    >>> add_table(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("table", help="write the runs behind claims as one table")
    add_claims(parser)
    parser.add_argument("--profile", help="ci (default) or paper")
    parser.add_argument("--store", metavar="DIR", help="where results are kept (also REPRO_STORE)")
    whose = "a file of evidence that has the results, instead of the store"
    parser.add_argument("--evidence", type=Path, metavar="FILE", help=whose)
    where = "write it into this file instead of printing it"
    parser.add_argument("--into", type=Path, metavar="FILE", help=where)
    parser.set_defaults(run=_table)


def _table(chosen: argparse.Namespace) -> int:
    """Write the runs that claims use."""
    session = collected(chosen, "profile", "store", "evidence")
    claims = []
    for name, item in zip(session.names, session.trained, strict=True):
        trials = session.read_ahead(item)
        claims.append(UsedRuns(name, trials.arms_used, trials.metrics_used))
    if not any(arm.keys for claim in claims for arm in claim.arms):
        raise EvidenceError("The table is empty: none of these claims has a run; train them first.")
    places: list[StoredRuns] = [RecordedRuns([session.known.by_key()])]
    if isinstance(session.results, EvidenceResults):
        places.append(session.results)
    if session.training is not None:
        places.append(session.training.store)
    columns, rows = columns_of(claims), rows_of(claims, *places)
    if chosen.into is None:
        write_table(sys.stdout, columns, rows)
        return 0
    said = f"The table {chosen.into} cannot be written"
    with (
        explained(
            EvidenceError,
            full=(said, "make room"),
            refused=(said, "name a file that you may write"),
        ),
        chosen.into.open("w", encoding="utf-8", newline="") as file,
    ):
        write_table(file, columns, rows)
    return 0
