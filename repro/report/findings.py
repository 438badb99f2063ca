"""The command `findings`: the verdicts of ledgers in tables, for a page."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from repro.ledger import KINDS, VERDICTS, Entry, entries_at
from repro.report.counts import MANY
from repro.report.markdown import as_text, table_row
from repro.report.source_tables import read_figures, size_of, source_of, source_tables
from repro.text import shown

LISTED = ("documented", "small", "any")
"""The sizes of experiments in the order of the table: the source's own leads."""

BEGIN, END = "<!-- findings: begin -->\n", "<!-- findings: end -->"


def add_to(commands: Any) -> None:
    """Add `findings` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("findings", help="show the verdicts of ledgers in tables")
    parser.add_argument(
        "ledgers",
        nargs="+",
        type=Path,
        metavar="LEDGER",
        help="ledgers: files, or folders of them",
    )
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help=f"write it into this file, between {BEGIN.strip()} and {END}, instead of printing it",
    )
    parser.add_argument("--source", metavar="ID", help="show each claim of this source instead")
    parser.add_argument(
        "--figures",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="with --source, a report's results.json: its figures of the source, as tables;"
        " may be given for each size of experiments",
    )
    parser.set_defaults(run=_run)


def findings_table(entries: Iterable[Entry]) -> str:
    """Return the number of each verdict by source, whose claims, size and data, as Markdown.

    >>> print(findings_table(entries_at(Path("claims/ledger"))))
    """
    counts: dict[tuple[str, int, int, str], Counter[str]] = {}
    for entry in entries:
        size = LISTED.index(size_of(entry.profile))
        row = source_of(entry), KINDS.index(entry.kind), size, entry.data
        counts.setdefault(row, Counter())[entry.verdict] += 1
    rows = [
        (
            as_text(source if KINDS[kind] == "source" else f"{source}, {MANY[KINDS[kind]]}"),
            LISTED[size],
            as_text(data),
            *(str(by_verdict[verdict]) for verdict in VERDICTS),
        )
        for (source, kind, size, data), by_verdict in sorted(counts.items())
    ]
    head = [("source", "size", "judged on", *VERDICTS), (*["---"] * 3, *["--:"] * 3)]
    return "".join(f"{table_row(line)}\n" for line in [*head, *rows])


def with_table(text: str, table: str) -> str:
    """Return the text with the table between its marks; raise ValueError where it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"it has no lines {BEGIN.strip()} and {END} to write between")
    return before + begin + table + end + after


def _run(chosen: argparse.Namespace) -> int:
    entries = [entry for path in chosen.ledgers for entry in entries_at(path)]
    try:
        if chosen.source is None:
            tables = findings_table(entries)
        else:
            figures = [figure for path in chosen.figures for figure in read_figures(path)]
            tables = source_tables(entries, chosen.source, figures=figures)
    except ValueError as error:
        return _refuse(f"{error}")
    if chosen.into is None:
        print(tables, end="")
        return 0
    try:
        text = with_table(chosen.into.read_text(encoding="utf-8"), tables)
        chosen.into.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        return _refuse(f"The table was not written into {chosen.into}: {error}.")
    return 0


def _refuse(why: str) -> int:
    print(shown(why), file=sys.stderr)
    return 1
