"""The end of a session: one table of verdicts, one line of counts, the ledger, the report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from repro.ledger import Entry, Ledger
from repro.plugin.gate import OPEN_AT
from repro.plugin.session import Account, open_store
from repro.report.figure import FigureData
from repro.report.record import Record
from repro.report.suite import adjust
from repro.report.table import verdict_table
from repro.report.write import NothingToDrawWith, write_data, write_page

_MARKUP = {"reproduced": "green", "refuted": "red", "inconclusive": "yellow"}


def summarise(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    records: list[Record],
    figures: list[FigureData],
    accounts: list[Account],
) -> None:
    """Write the table; take verdicts over and write the report where that was asked for."""
    over_the_suite = ""
    if records:
        records.sort(key=lambda record: record["claim"])
        over_the_suite = adjust(records)
        _write_verdicts(terminal, config, records, accounts, over_the_suite)
    if config.getoption("report"):
        _write_report(terminal, config, records, figures, over_the_suite)


def _write_verdicts(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    records: list[Record],
    accounts: list[Account],
    over_the_suite: str,
) -> None:
    terminal.section("claims")
    for line, verdict in verdict_table(records):
        terminal.write_line(line, **({_MARKUP[verdict]: True} if verdict in _MARKUP else {}))
    verdicts = Counter(record["verdict"] for record in records)
    terminal.write_line("")
    terminal.write_line(", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common()))
    if over_the_suite:
        terminal.write_line(over_the_suite)
    for line in dict.fromkeys(line for account in accounts for line in account["reports"]):
        terminal.write_line(line, yellow=True)
    asked = max((account["asked"] for account in accounts), default=0)
    if asked:
        trained = sum(account["trained"] for account in accounts)
        terminal.write_line(f"{asked} distinct runs needed: {trained} trained now, the rest stored")
    changed = [record for record in records if record["change"]]
    if config.getoption("update_ledger"):
        taken = [record for record in records if _is_taken_over(record)]
        _update(taken)
        entries = sum(bool(record["change"]) for record in taken)
        terminal.write_line(f"the ledger was updated: {entries} entries changed")
    elif any(record["change"].startswith(("new", "better", "other")) for record in changed):
        terminal.write_line("verdicts differ from the ledger; accept them with --update-ledger")


def _write_report(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    records: list[Record],
    figures: list[FigureData],
    over_the_suite: str,
) -> None:
    folder = Path(config.getoption("report"))
    try:
        results, paths = write_data(folder, records, figures, over_the_suite=over_the_suite)
        try:
            store = open_store(config)
            paths = [*write_page(folder, results, store, over_the_suite=over_the_suite), *paths]
        except NothingToDrawWith as missing:
            terminal.write_line(str(missing), yellow=True)
        for path in paths:
            terminal.write_line(f"wrote {path}")
    except OSError as error:
        raise pytest.UsageError(f"--report {folder} cannot be written: {error}") from error


def _is_taken_over(record: Record) -> bool:
    """Whether a ledger takes a verdict; fewer seeds do not overwrite what more have found."""
    return record["verdict"] != "not run" and not record["change"].startswith(OPEN_AT)


def _update(records: list[Record]) -> None:
    by_ledger: dict[str, list[Entry]] = {}
    for record in records:
        entry = Entry(**{name: record[name] for name in Entry.__dataclass_fields__})
        by_ledger.setdefault(record["ledger"], []).append(entry)
    for path, entries in by_ledger.items():
        Ledger.read(Path(path)).accept(entries)
