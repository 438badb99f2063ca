"""The command `table`: writes the runs behind claims; a store and a ledger stay as they are."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from repro.commands.collecting import add_claims, collected
from repro.evidence import EvidenceError
from repro.evidence.reader import EvidenceResults
from repro.files import explained
from repro.recorded.adapter import RecordedRuns
from repro.report.stored_runs import StoredRuns, UsedRuns, columns_of, rows_of
from repro.report.write import write_table


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
    if session.store is not None:
        places.append(session.store)
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
