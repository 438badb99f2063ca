"""The end of a session: the table of verdicts, the ledger, the report. Or the session's plan."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

import pytest

import repro
from repro.core.device import machine
from repro.judge import LEVEL, Outcome
from repro.ledger import (
    Change,
    Entry,
    Ledger,
    LedgerError,
    locked,
    write_ledgers,
)
from repro.plugin.claims import claim_id, mark_of
from repro.plugin.command_line import option
from repro.plugin.display import MARKUP
from repro.plugin.options import evidence_of, folder_named, store_folder
from repro.plugin.session import ClaimSession
from repro.recorded.adapter import RecordedRuns, RunsByKey, recorded_lines
from repro.report.ending import Line, ending, verdict_table
from repro.report.lines import ERROR, PROPERTY, ClaimLine
from repro.report.records import ClaimRecord, FigureData, JudgedClaim, from_json
from repro.report.results_file import (
    Failure,
    ResultsDocument,
    SessionData,
    project_name,
    results_of,
    way_from,
    web_address,
)
from repro.runs.profiles import PROFILES
from repro.runs.provenance import commit_of, place_of
from repro.runs.results import Results, remarks_on
from repro.store import Store
from repro.text import counted, shown

MOST_REMARKS, MOST_OF_EVIDENCE = 2, 3
"""The most lines of each kind without -v, so that the summary has at most 40 lines."""


class Account(TypedDict):
    """The work of one process: requested runs, trained runs, and remarks."""

    requested: list[str]
    """The keys of the requested runs."""
    missing: list[str]
    """The keys of those without a result, because training failed or was stopped."""
    trained: int
    reports: list[str]
    evidence: list[str]
    """The lines about the files of evidence that the session judges from."""
    recorded: dict[str, list[str]]
    """The keys of the recorded runs that were read, by file."""
    recorded_runs: RunsByKey
    """The recorded runs themselves, if a report is written."""


def account_of(session: ClaimSession) -> Account:
    """Return the work of this process, for the summary of the main process."""
    results = session.results
    evidence, remarks = evidence_of(session.config), list(session.remarks)
    requested: list[str] = []
    missing: list[str] = []
    if isinstance(results, Results):
        requested = list(map(results.key, session.requested))
        missing = [results.key(run) for run in session.requested if results.get(run) is None]
        remarks += remarks_on(results.read().items())
    return {
        "requested": requested,
        "missing": missing,
        "trained": session.training.trained if session.pool is not None else 0,
        "reports": remarks,
        "evidence": evidence.lines() if evidence is not None else [],
        "recorded": session.known.files,
        "recorded_runs": session.known.by_key() if option(session.config, "report") else {},
    }


def summarise(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    judged: list[Any],
    figures: list[Any],
    accounts: list[Account],
) -> None:
    """Write the table; update the ledger and write the report if the options say so.

    Claims and figures are JSON of `JudgedClaim` and `FigureData`.
    """
    of_evidence = dict.fromkeys(line for account in accounts for line in account["evidence"])
    results = results_of(
        [from_json(JudgedClaim, data) for data in judged],
        [from_json(FigureData, data) for data in figures],
        evidence=[
            *of_evidence,
            *recorded_lines(account["recorded"] for account in accounts),
        ],
    )
    failures, in_error = _failures(terminal, results.claims, profile=option(config, "profile"))
    claims = sorted([*results.claims, *in_error], key=lambda record: record.claim)
    results = replace(results, claims=claims, failures=failures)
    if results.claims or results.failures:
        _write_verdicts(terminal, config, results, accounts)
    if option(config, "report"):
        recorded = RecordedRuns([account["recorded_runs"] for account in accounts])
        _write_report(terminal, config, results, recorded)


def _write_verdicts(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    results: ResultsDocument,
    accounts: list[Account],
) -> None:
    records = results.judged
    terminal.section("claims")
    if config.get_verbosity() > 0:
        _write_lines(terminal, [*verdict_table(records), ("", None)])
    _write_lines(terminal, [*ending(results), ("", None)])
    if results.false_verdicts:
        terminal.write_line(results.false_verdicts)
    remarks = list(dict.fromkeys(line for account in accounts for line in account["reports"]))
    most = (MOST_REMARKS, MOST_OF_EVIDENCE) if config.get_verbosity() <= 0 else (None, None)
    _write_some(terminal, remarks, most[0], "remarks, with -v", yellow=True)
    requested = {key for account in accounts for key in account["requested"]}
    _write_some(terminal, results.evidence, most[1], "lines on evidence, with -v or in the report")
    from_evidence = any(account["evidence"] for account in accounts)
    if requested and not from_evidence:
        trained = sum(account["trained"] for account in accounts)
        stored = {
            key for each in accounts for key in each["requested"] if key not in each["missing"]
        }
        without = f"{len(requested - stored)} not trained, " if requested - stored else ""
        terminal.write_line(
            f"{counted(len(requested), 'distinct run')} needed: {trained} trained now,"
            f" {without}the rest stored"
        )
    if option(config, "update-ledger"):
        accepted = [record for record in records if _is_acceptable(record)]
        removed = _update(accepted, profile=option(config, "profile"))
        changed = sum(bool(record.change) for record in accepted)
        terminal.write_line(f"the ledger was updated: {counted(changed, 'verdict')} changed")
        for entry in removed:
            said = f"the entry of {entry.claim} on {entry.data} was removed: it uses other data now"
            terminal.write_line(shown(said))
    elif (results.changed or results.new) and not from_evidence:
        terminal.write_line("accept the differences from the ledger with --update-ledger")


def _write_some(
    terminal: pytest.TerminalReporter,
    lines: Sequence[str],
    most: int | None,
    of_what: str,
    **markup: bool,
) -> None:
    """Write the first lines, and the number of the others."""
    for line in lines[:most]:
        terminal.write_line(shown(line), **markup)
    if left := len(lines) - len(lines[:most]):
        terminal.write_line(f"and {left} more {of_what}", **markup)


def _write_lines(terminal: pytest.TerminalReporter, lines: Iterable[Line]) -> None:
    for line, verdict in lines:
        terminal.write_line(line, **MARKUP.get(verdict or "", {}))


def _failures(
    terminal: pytest.TerminalReporter, records: Iterable[ClaimRecord], *, profile: str
) -> tuple[list[Failure], list[ClaimRecord]]:
    """Return the claims that failed by their verdict or by an error, each once.

    The records are those of claims that ended in an error, without a verdict.
    """
    commands = {record.claim: record.command for record in records}
    failures: dict[str, Failure] = {}
    in_error: dict[str, ClaimRecord] = {}
    for report in [*terminal.stats.get("failed", ()), *terminal.stats.get("error", ())]:
        texts = [text for name, text in getattr(report, "user_properties", ()) if name == PROPERTY]
        alone = shlex.join(["pytest", report.nodeid])
        for claim in map(ClaimLine.from_json, texts):
            command = commands.get(claim.name, alone)
            said = report.longreprtext if claim.verdict == ERROR else ""
            failures[report.nodeid] = Failure(claim.verdict, command, said)
            if claim.name not in commands:
                in_error[report.nodeid] = _in_error(claim, report, profile)
    return list(failures.values()), list(in_error.values())


def _in_error(claim: ClaimLine, report: pytest.TestReport, profile: str) -> ClaimRecord:
    """Return the record of a claim that ended in an error."""
    file, line, _ = report.location
    return ClaimRecord(
        claim=claim.name,
        sentence=claim.sentence,
        source=claim.source,
        profile=profile,
        verdict=ERROR,
        p=None,
        accepted=None,
        text=f"{claim.measured}\n{claim.details}".rstrip(),
        file=file,
        line=line or 0,
        command=shlex.join(["pytest", report.nodeid]),
    )


def _write_report(
    terminal: pytest.TerminalReporter,
    config: pytest.Config,
    results: ResultsDocument,
    recorded: RecordedRuns,
) -> None:
    from repro.report import headlines
    from repro.report.write import NothingToDrawWith, write_data, write_page

    folder = folder_named(config, "report")
    assert folder is not None
    beside = dict.fromkeys(Path(each.ledger).parent.parent for each in results.judged)
    try:
        first = headlines.judged(beside, results.judged)
    except LedgerError as error:
        raise pytest.UsageError(str(error)) from error
    results = replace(results, headlines=first, session=session_of(config, report=folder))
    try:
        paths = write_data(folder, results)
        try:
            stored = evidence_of(config) or Store(store_folder(config))
            paths = [*write_page(folder, results, recorded, stored), *paths]
        except NothingToDrawWith as missing:
            terminal.write_line(str(missing), yellow=True)
        terminal.write_line(f"the report is {paths[0]}")
    except OSError as error:
        raise pytest.UsageError(f"--report {folder} cannot be written: {error}") from error


def session_of(config: pytest.Config, *, report: Path) -> SessionData:
    """Return the data of a session for a report in this folder.

    >>> session_of(request.config, report=Path("report")).profile
    'ci'
    """
    project = config.rootpath
    at, (remote, below) = commit_of(project), place_of(project)
    commit = at["commit"] or ""
    return SessionData(
        project=project_name(project),
        version=repro.__version__,
        commit=commit,
        uncommitted_changes=bool(commit) and at["uncommitted_changes"],
        date=datetime.now(UTC).isoformat(timespec="minutes"),
        command=shlex.join(["pytest", *config.invocation_params.args]),
        profile=option(config, "profile"),
        machine=f"{machine('cpu')}, {os.cpu_count()} cores",
        files=web_address(remote, commit, below) or way_from(report, project),
    )


def _is_acceptable(record: ClaimRecord) -> bool:
    """Return False where a claim was not run, or is open only because of a seed budget."""
    return record.verdict is not Outcome.NOT_RUN and record.change_kind is not Change.SHORT


def _update(records: list[ClaimRecord], *, profile: str) -> list[Entry]:
    """Write the accepted verdicts into the ledgers.

    Returns the entries that were removed because their claims are about other data now.
    """
    removed: list[Entry] = []
    by_ledger: dict[str, list[Entry]] = {}
    for record in records:
        by_ledger.setdefault(record.ledger, []).append(_entry(record))
    try:
        with locked(Path(path).parent.parent for path in by_ledger):
            ledgers = [Ledger.read(Path(path)) for path in by_ledger]
            for ledger, entries in zip(ledgers, by_ledger.values(), strict=True):
                for now in entries:
                    before = ledger.of_claim(now.claim)
                    removed += [e for e in before if e.is_about_other_data(now.data, profile)]
                ledger.entries = {p: e for p, e in ledger.entries.items() if e not in removed}
                ledger.add(entries)
            write_ledgers(ledgers)
    except LedgerError as error:
        raise pytest.UsageError(str(error)) from error
    return removed


def _rounded(number: float) -> float:
    """Round to six digits: further digits differ between machines and would change the ledger."""
    return float(f"{number:.6g}")


SHARED = (
    *("claim", "profile", "data", "verdict", "sentence", "documented", "kind", "measured"),
    *("machine", "one_look", "effect_size"),
)
"""The fields that an entry of a ledger has from the record of its claim as they are."""


def _entry(record: ClaimRecord) -> Entry:
    over, is_reproduced = record.over_stored, record.verdict is Outcome.REPRODUCED
    usual = PROFILES.get(record.profile)
    return Entry(
        **{name: getattr(record, name) for name in SHARED},
        reason=record.reason if record.verdict is Outcome.INCONCLUSIVE else "",
        arms=record.labels if is_reproduced else (),
        past=[(_rounded(mean), _rounded(spread), n) for mean, spread, n in record.past],
        looks=record.looks if usual and tuple(record.looks) != usual.looks else [],
        level=0.0 if record.level == LEVEL else record.level,
        over_stored=[_rounded(estimate) for estimate in over[:1]] + over[1:],
        levels=[
            (arm, metric, _rounded(mean), _rounded(sd), n)
            for arm, metric, mean, sd, n in record.levels
            if is_reproduced
        ],
    )


def describe_plan(session: ClaimSession) -> str:
    """Return the plan of a session as text."""
    from repro.report.plan_text import plan_text

    assert isinstance(session.results, Results), "--plan with --evidence is refused"
    session.make_plan(session.items)
    plan, profile = session.plan, session.profile
    cannot = {
        **{claim_id(item): why for item, why in session.unreadable.items()},
        **{item.nodeid: why for item, why in session.refused.items()},
    }
    marks = [mark_of(item) for item in session.trained]
    own = [mark for mark in marks if mark.looks is not None or mark.level is not None]
    claims = counted(len(own), "claim")
    lines = [
        plan_text(
            len(session.items),
            len(session.requested),
            list(plan.missing),
            profile,
            level=option(session.config, "level"),
            all_rows=session.config.get_verbosity() > 0,
        ),
        *([f"{claims} of these at looks or a level that the claim declares itself"] if own else []),
        *session.results.why_again(),
        *recorded_lines([session.known.files]),
        *session.unplanned_lines(),
        *(shown(f"{name} cannot be judged: {why}") for name, why in cannot.items()),
    ]
    if session.gate.reference > profile.looks[0]:
        seeds = session.gate.reference
        lines.append(f"what is reproduced takes {seeds} seeds, for the ledger")
    return "\n".join(lines)
