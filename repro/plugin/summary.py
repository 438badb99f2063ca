"""The end of a session: one table of verdicts, one line of counts, the ledger, the report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from repro.judge import Outcome
from repro.ledger import Entry, Ledger, LedgerError
from repro.plugin.gate import OPEN_AT
from repro.plugin.session import Account, open_store
from repro.report.figure import FigureData
from repro.report.json_data import from_json
from repro.report.record import ClaimRecord, JudgedClaim
from repro.report.results import ResultsDocument, results_of
from repro.report.suite import over_the_suite
from repro.report.table import verdict_table
from repro.report.write import NothingToDrawWith, write_data, write_page
from repro.text import shown

_MARKUP = {Outcome.REPRODUCED: "green", Outcome.REFUTED: "red", Outcome.INCONCLUSIVE: "yellow"}


def summarise(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    judged: list[Any],
    figures: list[Any],
    accounts: list[Account],
) -> None:
    """Write the table; update the ledger and write the report where that was asked for.

    Claims and figures are JSON of `JudgedClaim` and `FigureData`.
    """
    results = results_of(
        [from_json(JudgedClaim, data) for data in judged],
        [from_json(FigureData, data) for data in figures],
    )
    if results.claims:
        _write_verdicts(terminal, config, results.claims, accounts)
    if config.getoption("report"):
        _write_report(terminal, config, results)


def _write_verdicts(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    records: list[ClaimRecord],
    accounts: list[Account],
) -> None:
    terminal.section("claims")
    for line, verdict in verdict_table(records):
        terminal.write_line(line, **({_MARKUP[verdict]: True} if verdict in _MARKUP else {}))
    verdicts = Counter(record.verdict for record in records)
    terminal.write_line("")
    terminal.write_line(", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common()))
    if standing := over_the_suite(records):
        terminal.write_line(standing)
    for line in dict.fromkeys(line for account in accounts for line in account["reports"]):
        terminal.write_line(shown(line), yellow=True)
    asked = max((account["asked"] for account in accounts), default=0)
    if asked:
        trained = sum(account["trained"] for account in accounts)
        terminal.write_line(f"{asked} distinct runs needed: {trained} trained now, the rest stored")
    if config.getoption("update_ledger"):
        accepted = [record for record in records if _is_acceptable(record)]
        _update(accepted)
        entries = sum(bool(record.change) for record in accepted)
        terminal.write_line(f"the ledger was updated: {entries} entries changed")
    elif any(record.change.startswith(("new", "better", "other")) for record in records):
        terminal.write_line("verdicts differ from the ledger; accept them with --update-ledger")


def _write_report(
    terminal: pytest.TerminalReporter, config: pytest.Config, results: ResultsDocument
) -> None:
    folder = Path(config.getoption("report"))
    try:
        paths = write_data(folder, results)
        try:
            paths = [*write_page(folder, results, open_store(config)), *paths]
        except NothingToDrawWith as missing:
            terminal.write_line(str(missing), yellow=True)
        for path in paths:
            terminal.write_line(f"wrote {path}")
    except OSError as error:
        raise pytest.UsageError(f"--report {folder} cannot be written: {error}") from error


def _is_acceptable(record: ClaimRecord) -> bool:
    """Return False where a claim was not run, or where its ledger entry took more seeds."""
    return record.verdict is not Outcome.NOT_RUN and not record.change.startswith(OPEN_AT)


def _update(records: list[ClaimRecord]) -> None:
    by_ledger: dict[str, list[Entry]] = {}
    for record in records:
        by_ledger.setdefault(record.ledger, []).append(_entry(record))
    try:
        for path, entries in by_ledger.items():
            Ledger.read(Path(path)).accept(entries)
    except LedgerError as error:
        raise pytest.UsageError(str(error)) from error


def _entry(record: ClaimRecord) -> Entry:
    return Entry(
        claim=record.claim,
        profile=record.profile,
        data=record.data,
        verdict=record.verdict,
        sentence=record.sentence,
        documented=record.documented,
        measured=record.measured,
        machine=record.machine,
        past=record.past,
    )
