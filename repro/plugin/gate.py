"""The gate: turns the end of a claim's test into its verdict, and holds it against the ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from repro.document import ANY_PROFILE
from repro.judge import Excess, Outcome, has_shrunk
from repro.ledger import NAME, Entry, Ledger
from repro.plugin.claims import claim_id, mark_of
from repro.plugin.gathered import SAID_IN_FULL, Gathered, named, outcome_of, past_of
from repro.report.json_data import to_json
from repro.report.record import ClaimRecord, JudgedClaim, finding_data
from repro.runs.profiles import PROFILES
from repro.text import shown, shown_lines

NOTHING_JUDGED = (
    "This claim's test passed without judging anything: assert what trials(...) measured, or what "
    "document(...) says."
)

OPEN_AT = "open at"
"""Begins the `change` of a claim whose ledger entry took more seeds: the entry stays as it is."""


@dataclass(frozen=True)
class Gate:
    """Holds findings against the ledger beside their claims."""

    accept: bool
    """True where this session updates the ledger."""

    insist: bool
    """True where a claim that cannot be run fails."""

    sparing: bool
    """True where claims that cannot fail, by what the ledger says of them, are left out."""

    seeds: int
    """The number of seeds that an arm may use at most."""

    ledgers: dict[Path, Ledger] = field(default_factory=dict)
    """The ledgers that were read, by folder."""

    def judge(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
        gathered: Gathered,
    ) -> None:
        """Set the outcome of a claim's report, and attach the record of its verdict."""
        raised = call.excinfo.value if call.excinfo else None
        if raised is None and not gathered.findings:
            report.outcome, report.longrepr = "failed", NOTHING_JUDGED
            return
        outcome = outcome_of(raised, gathered)
        if outcome is None:
            if isinstance(raised, SAID_IN_FULL):
                report.longrepr = shown_lines(str(raised))
            return  # not a finding but an error in the test or in training: pytest reports it
        entry = self._entry(item, gathered.profile_name, gathered.data)
        agrees = self._agrees_with(entry, outcome, gathered) if entry else ""
        arms = {arm.name: arm for arm in gathered.arms_used}
        record = _record(
            item,
            outcome,
            gathered,
            raised,
            arms=list(arms),
            command=f'pytest "{item.nodeid}"{self._options(gathered.profile_name)}',
            ledger=self.ledger_of(item),
            accepted=entry.verdict if entry else None,
            agrees=agrees,
        )
        judged = to_json(JudgedClaim(record=record, arms=arms))
        short = [("repro.verdict", outcome.value), ("repro.measured", record.measured)]
        whole = ("repro.record", json.dumps(judged, ensure_ascii=False, allow_nan=False))
        report.user_properties += [*short, whole]
        item.user_properties += short  # JUnit XML takes them from the teardown's report
        self._set_result(report, record, entry, agrees=bool(agrees))

    def spared(self, item: pytest.Item, profile: str, data: Sequence[str]) -> str | None:
        """Return why `--gate` skips a claim before its training; None where it is judged."""
        entry = self._entry(item, profile, data) if self.sparing else None
        if entry is None or entry.verdict == Outcome.REPRODUCED.value:
            return None
        return (
            f"skipped by --gate: it is {entry.verdict} in the ledger, so it cannot fail the build. "
            "Run without --gate to judge it."
        )

    def _options(self, profile: str) -> str:
        """Return the options with which a session judges a claim as this one does."""
        if profile == ANY_PROFILE:
            return ""
        budget = f" --seed-budget {self.seeds}" if self.seeds != PROFILES[profile].looks[-1] else ""
        return f" --profile {profile}{budget}"

    def _entry(self, item: pytest.Item, profile: str, data: Sequence[str]) -> Entry | None:
        return self.ledger_of(item).entry(claim_id(item), profile, named(data))

    def ledger_of(self, item: pytest.Item) -> Ledger:
        """Return the ledger beside the file of a claim; raises LedgerError."""
        folder = item.path.parent
        if folder not in self.ledgers:
            self.ledgers[folder] = Ledger.read(folder / NAME)
        return self.ledgers[folder]

    def _agrees_with(self, entry: Entry, outcome: Outcome, gathered: Gathered) -> str:
        """Say how an open claim agrees with a ledger where it was reproduced; empty if it does not.

        It agrees if the ledger's verdict is from another kind of machine or from more seeds, and
        no comparison has shrunk. On the same kind of machine, at as many seeds, the same code gives
        the same bits, so that a difference has a cause.
        """
        if (outcome, entry.verdict) != (Outcome.INCONCLUSIVE, Outcome.REPRODUCED.value):
            return ""
        accepted = [Excess(*each) for each in entry.past]
        seeds = max((each.seeds for each in accepted), default=0)
        if entry.machine not in ("", gathered.machine):
            agreement = "open here (reproduced on another machine)"
        elif seeds > self.seeds:
            agreement = f"{OPEN_AT} {self.seeds} seeds (reproduced at {seeds})"
        else:
            return ""
        return "" if has_shrunk(accepted, past_of(gathered)) else agreement

    def _set_result(
        self, report: Any, record: ClaimRecord, entry: Entry | None, *, agrees: bool
    ) -> None:
        if record.verdict is Outcome.REPRODUCED:
            return
        text = shown_lines(record.text)
        if record.verdict is Outcome.NOT_RUN and self.insist:
            report.outcome = "failed"
            report.longrepr = f"{text}\nNot run, and --require-verdict asks for a verdict."
        elif record.verdict is Outcome.NOT_RUN:
            report.outcome = "skipped"
            report.longrepr = (record.file, record.line, f"not run: {text}")
        elif self.accept or agrees or record.accepted not in (None, Outcome.REPRODUCED.value):
            report.outcome = "skipped"
            report.wasxfail = f"{record.verdict}: {shown(record.measured)}"
            report.longrepr = (record.file, record.line, text)
        else:
            report.outcome = "failed"
            report.longrepr = shown_lines(_explanation(record, entry))


def _rounded(past: Excess) -> tuple[float, float, int]:
    """Return the numbers of a comparison as a ledger keeps them, for people to read."""
    return float(f"{past.mean:.5g}"), float(f"{past.spread:.5g}"), past.seeds


def _record(
    item: pytest.Item,
    outcome: Outcome,
    gathered: Gathered,
    raised: BaseException | None,
    *,
    arms: list[str],
    command: str,
    ledger: Ledger,
    accepted: str | None,
    agrees: str,
) -> ClaimRecord:
    mark = mark_of(item)
    text = "\n".join(map(str, gathered.findings))
    if not text or outcome is Outcome.NOT_RUN:
        text = str(raised)
    if gathered.remarks:
        text += "\n  " + "; ".join(gathered.remarks)
    file, line, _ = item.location
    holds = outcome is Outcome.REPRODUCED
    return ClaimRecord(
        claim=claim_id(item),
        sentence=mark.sentence,
        source=mark.source,
        about=_about(item),
        documented=mark.documented,
        profile=gathered.profile_name,
        data=named(gathered.data),
        verdict=outcome,
        p=None if outcome is Outcome.NOT_RUN else gathered.p,
        accepted=accepted,
        change=agrees or change(accepted, outcome),
        measured=gathered.findings[-1].measured if gathered.findings else "",
        text=text,
        findings=[finding_data(finding) for finding in gathered.findings],
        arms=arms,
        metrics=list(gathered.metrics_used),
        file=file,
        line=line or 0,
        command=command,
        machine=gathered.machine if holds else "",
        past=list(map(_rounded, past_of(gathered))) if holds else [],
        ledger=str(ledger.path),
    )


def _about(item: pytest.Item) -> str:
    """Return the first paragraph of the docstring of a claim's file."""
    assert isinstance(item, pytest.Function)
    docstring = item.module.__doc__ or ""
    return " ".join(docstring.strip().split("\n\n")[0].split())


def change(accepted: str | None, outcome: Outcome) -> str:
    """Return how a verdict differs from the ledger; empty where it does not."""
    if outcome is Outcome.NOT_RUN or accepted == outcome.value:
        return ""
    if accepted is None:
        return "new"
    if outcome is Outcome.REPRODUCED:
        return f"better (was {accepted})"
    return f"{'worse' if accepted == Outcome.REPRODUCED.value else 'other'} (was {accepted})"


def _explanation(record: ClaimRecord, entry: Entry | None) -> str:
    before = f"accepted in the ledger: {entry.verdict}" if entry else "not in the ledger yet"
    if entry and entry.machine:
        before += f" on {entry.machine}"
    return "\n".join(
        [
            f"claimed ({record.source}): {record.sentence}",
            f"documented: {record.documented or 'no number'}",
            record.text,
            f"data: {record.data}; profile: {record.profile}; {before}",
            f"reproduce with: {record.command}",
            "accept this finding with: --update-ledger",
        ]
    )
