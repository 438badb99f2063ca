"""The gate: turns the end of a claim's test into its verdict, and holds it against the ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from repro.judge import Excess, Held, Outcome, Standing, held_against, reference
from repro.judge.explain import wrap
from repro.ledger import Entry, Ledger, Ledgers
from repro.plugin.claims import claim_id, mark_of
from repro.plugin.gathered import SAID_IN_FULL, Gathered, contradiction, named, outcome_of
from repro.plugin.second_look import looked_again
from repro.plugin.trials import Trials
from repro.report.json_data import to_json
from repro.report.record import ClaimRecord, FindingData, JudgedClaim, finding_data
from repro.runs.plan import TrainingFailed
from repro.runs.profiles import PROFILES
from repro.text import shown, shown_lines

NOTHING_JUDGED = (
    "This claim's test passed without judging anything: assert what trials(...) measured, or what "
    "document(...) says."
)

OPEN_AT = "open at"
"""Begins the `change` of a claim that is open for want of seeds: its entry stays as it is."""

SMALLER = "smaller than it was"
"""The `change` of a claim that is still reproduced, by a smaller effect."""


@dataclass(frozen=True)
class Compared:
    """The comparisons of a claim now, and as they were when the ledger accepted them."""

    held: Sequence[Held] = ()
    """Its findings, held against the ledger where it was reproduced there."""
    past: Sequence[Excess] = ()
    """The distance of each comparison past its bound, where it is reproduced now."""
    record: ClaimRecord | None = None
    """The record of the verdict, where there is one."""


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

    reference: int = 0
    """The number of seeds over which the ledger keeps what is reproduced, if it takes fewer."""

    from_evidence: str = ""
    """The option that names the evidence files which this session judges from."""

    ledgers: Ledgers = field(default_factory=Ledgers)
    """The ledgers beside the claims, as far as they were read."""

    has_report: bool = True
    """False where no report is written: records are told without what only a report shows."""

    def judge(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
        gathered: Gathered,
        compared: Compared | None = None,
    ) -> Compared:
        """Set the outcome of a claim's report, and attach the record of its verdict.

        What was `compared` when the same evidence was gathered before need not be compared again.
        """
        raised = call.excinfo.value if call.excinfo else None
        if raised is None and not gathered.findings:
            fail(report, NOTHING_JUDGED)
            return Compared()
        if slip := contradiction(raised, gathered):
            fail(report, slip)
            return Compared()
        outcome = outcome_of(raised, gathered)
        if outcome is None:
            if isinstance(raised, SAID_IN_FULL):
                report.longrepr = _said(raised)
            # not a finding but an error in the test or in training: pytest reports it
            return Compared()
        is_judged = outcome is not Outcome.NOT_RUN
        try:
            if compared is None:
                holds = outcome is Outcome.REPRODUCED
                compared = self.compare(item, gathered, holds=holds) if is_judged else Compared()
        except TrainingFailed as failed:
            fail(report, _said(failed))
            return Compared()
        entry = self._entry(item, gathered.profile_name, gathered.data)
        if is_judged and (again := looked_again(entry, gathered)):
            raised, outcome, compared = again, Outcome.NOT_RUN, Compared()
        agrees = self._agreement(outcome, gathered, compared.held)
        arms = {arm.name: arm for arm in gathered.arms_used} if self.has_report else {}
        record = _record(
            item,
            outcome,
            gathered,
            raised,
            arms=list(arms),
            findings=list(map(finding_data, gathered.findings)) if self.has_report else [],
            command=f'pytest "{item.nodeid}"{self._options(gathered.profile_name)}',
            ledger=self.ledger_of(item),
            accepted=entry.verdict if entry else None,
            agrees=agrees,
            compared=compared,
        )
        judged = to_json(JudgedClaim(record=record, arms=arms))
        short = [("repro.verdict", outcome.value), ("repro.measured", record.measured)]
        whole = ("repro.record", json.dumps(judged, ensure_ascii=False, allow_nan=False))
        report.user_properties += [*short, whole]
        item.user_properties += short  # JUnit XML takes them from the teardown's report
        self._set_result(report, record, entry, agrees=bool(agrees))
        return replace(compared, record=record)

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
        if profile not in PROFILES:  # of a document, or of runs that are all there
            return ""
        budget = f" --seed-budget {self.seeds}" if self.seeds != PROFILES[profile].looks[-1] else ""
        return f" --profile {profile}{budget}{self.from_evidence}"

    def _entry(self, item: pytest.Item, profile: str, data: Sequence[str]) -> Entry | None:
        return self.ledger_of(item).entry(claim_id(item), profile, named(data))

    def ledger_of(self, item: pytest.Item) -> Ledger:
        """Return the ledger for the file of a claim; raises LedgerError."""
        return self.ledgers.of(item.path)

    def compare(self, item: pytest.Item, gathered: Gathered, *, holds: bool) -> Compared:
        """Hold a claim against the ledger, and measure it for the next one if it `holds`.

        Raises `RunsMissing` where that takes more seeds than the verdict did.
        """
        if not isinstance(gathered, Trials):
            return Compared()
        findings = gathered.findings
        entry = self._entry(item, gathered.profile_name, gathered.data)
        held: list[Held] = []
        if entry is not None and entry.verdict == Outcome.REPRODUCED.value:
            accepted = [Excess(*each) for each in entry.past]
            held = held_against(accepted, findings, has=gathered.has)
        past = reference(findings, self.reference, has=gathered.has) if holds else []
        return Compared(held, past)

    def _agreement(self, outcome: Outcome, gathered: Gathered, held: Sequence[Held]) -> str:
        """Say how an open claim agrees with a ledger where it was reproduced; empty if it does not.

        It agrees if no comparison of it has become smaller.
        """
        still_open = [each for each in held if each.verdict.outcome is not Outcome.REPRODUCED]
        is_smaller = any(
            each.standing in (Standing.SMALLER, Standing.INCOMPARABLE) for each in still_open
        )
        if outcome is not Outcome.INCONCLUSIVE or is_smaller or not still_open:
            return ""
        least = min(still_open, key=lambda each: each.chance)
        usual = PROFILES.get(gathered.profile_name)
        is_short = usual is not None and self.seeds < usual.looks[-1]
        where = f"{OPEN_AT} {self.seeds} seeds" if is_short else "open here"
        more = f" at {least.seeds}" if least.seeds > least.verdict.seeds else ""
        return f"{where}, {least.standing.value}{more}"

    def _set_result(
        self, report: Any, record: ClaimRecord, entry: Entry | None, *, agrees: bool
    ) -> None:
        if record.verdict is Outcome.REPRODUCED:
            return
        text = shown_lines(record.text)
        if record.verdict is Outcome.NOT_RUN and self.insist:
            fail(report, f"{text}\nNot run, and --require-verdict asks for a verdict.")
        elif record.verdict is Outcome.NOT_RUN:
            report.outcome = "skipped"
            report.longrepr = (record.file, record.line, f"not run: {text}")
        elif self.accept or agrees or record.accepted not in (None, Outcome.REPRODUCED.value):
            report.outcome = "skipped"
            report.wasxfail = f"{record.verdict}: {shown(record.measured)}"
            report.longrepr = (record.file, record.line, text)
        else:
            fail(report, shown_lines(_explanation(record, entry, self.from_evidence)))


def fail(report: Any, why: str) -> None:
    """Let a test fail, also one that was expected to: else pytest says so, and exits with 0."""
    report.outcome, report.longrepr = "failed", why
    if hasattr(report, "wasxfail"):
        del report.wasxfail


def _record(
    item: pytest.Item,
    outcome: Outcome,
    gathered: Gathered,
    raised: BaseException | None,
    *,
    arms: list[str],
    findings: list[FindingData],
    command: str,
    ledger: Ledger,
    accepted: str | None,
    agrees: str,
    compared: Compared,
) -> ClaimRecord:
    mark = mark_of(item)
    holds = outcome is Outcome.REPRODUCED
    text = "\n".join(map(str, gathered.findings))
    if not text or outcome is Outcome.NOT_RUN:
        text = str(raised)
    else:
        text = "\n".join([text, *(wrap(f"ledger: {each}") for each in compared.held)])
    is_smaller = holds and any(each.is_reported for each in compared.held)
    if gathered.remarks:
        text += "\n  " + "; ".join(gathered.remarks)
    file, line, _ = item.location
    return ClaimRecord(
        claim=claim_id(item),
        sentence=mark.sentence,
        source=mark.source,
        about=_about(item),
        documented=mark.documented,
        kind=mark.kind,
        profile=gathered.profile_name,
        data=named(gathered.data),
        verdict=outcome,
        p=None if outcome is Outcome.NOT_RUN else gathered.p,
        accepted=accepted,
        opposed=_opposed(ledger, claim_id(item), gathered.profile_name, outcome),
        change=agrees or (SMALLER if is_smaller else change(accepted, outcome)),
        measured=gathered.findings[-1].measured if gathered.findings else "",
        text=text,
        findings=findings,
        arms=arms,
        metrics=list(gathered.metrics_used),
        file=file,
        line=line or 0,
        command=command,
        machine=gathered.machine if holds else "",
        past=[(each.mean, each.spread, each.seeds) for each in compared.past],
        ledger=str(ledger.path),
    )


def _said(error: BaseException) -> str:
    """Return what an error says, and where training raised its traceback and output too."""
    details = error.details if isinstance(error, TrainingFailed) else ""
    return shown_lines(f"{error}\n{details}".rstrip())


def _opposed(ledger: Ledger, claim: str, profile: str, outcome: Outcome) -> str | None:
    """Say what the ledger has of a claim at other sizes, if it is the opposite of its verdict."""
    others = ledger.opposed(claim, profile, outcome.value)
    return "; ".join(f"{e.verdict} at {e.profile} ({e.data})" for e in others) or None


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


def _explanation(record: ClaimRecord, entry: Entry | None, from_evidence: str) -> str:
    before = f"accepted in the ledger: {entry.verdict}" if entry else "not in the ledger yet"
    if entry and entry.machine:
        before += f" on {entry.machine}"
    accept = "accept this finding with: --update-ledger"
    if from_evidence:
        accept = (
            f"judged from{from_evidence.removeprefix(' --')}; to accept this finding, add the files"
            " to a store (python -m repro evidence add) and judge it there with --update-ledger"
        )
    return "\n".join(
        [
            f"claimed ({record.source}): {record.sentence}",
            f"documented: {record.documented or 'no number'}",
            record.text,
            f"data: {record.data}; profile: {record.profile}; {before}",
            f"reproduce with: {record.command}",
            accept,
        ]
    )
