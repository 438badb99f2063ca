"""The command `table`: the runs behind claims as one tidy table, from a store or from evidence."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.evidence import EvidenceError
from repro.files import explained
from repro.plugin.evidence_command import add_claims, claims_of, options_of

if TYPE_CHECKING:
    from repro.plugin.session import ClaimSession
    from repro.report.runs import StoredRuns, UsedRuns


def add_to(commands: Any) -> None:
    """Add `table` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("table", help="write the runs behind claims as one table")
    add_claims(parser)
    parser.add_argument("--profile", help="ci (default) or paper")
    parser.add_argument("--store", metavar="DIR", help="where results are kept (also REPRO_STORE)")
    whose = "a file of evidence that has the results, instead of the store"
    parser.add_argument("--evidence", type=Path, metavar="FILE", help=whose)
    where = "write it into this file instead of printing it"
    parser.add_argument("--into", type=Path, metavar="FILE", help=where)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from repro.plugin.reading import with_claims

    options = options_of(chosen, "profile", "store", "evidence")
    with_claims(claims_of(chosen), options, lambda session: _write(session, chosen.into))
    return 0


def _write(session: ClaimSession, into: Path | None) -> None:
    from repro.evidence.results import EvidenceResults
    from repro.recorded.results import RecordedRuns
    from repro.report.runs import columns_of, rows_of
    from repro.report.write import write_table

    claims = _used(session)
    if not any(arm.keys for claim in claims for arm in claim.arms):
        raise EvidenceError("The table is empty: none of these claims has a run; train them first.")
    places: list[StoredRuns] = [RecordedRuns([session.known.by_key()])]
    if isinstance(session.results, EvidenceResults):
        places.append(session.results)
    if session.training is not None:
        places.append(session.training.store)
    columns, rows = columns_of(claims), rows_of(claims, *places)
    if into is None:
        write_table(sys.stdout, columns, rows)
    else:
        said = f"The table {into} cannot be written"
        with (
            explained(
                EvidenceError,
                full=(said, "make room"),
                refused=(said, "name a file that you may write"),
            ),
            into.open("w", encoding="utf-8", newline="") as file,
        ):
            write_table(file, columns, rows)


def _used(session: ClaimSession) -> list[UsedRuns]:
    """Read claims, and return the runs that they use."""
    from repro.plugin.claims import claim_id
    from repro.plugin.reading import read
    from repro.report.runs import UsedRuns

    used = ((claim_id(item), read(session, item)) for item in session.trained)
    return [UsedRuns(name, trials.arms_used, trials.metrics_used) for name, trials in used]
