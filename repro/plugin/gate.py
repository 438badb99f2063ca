"""From the end of a claim's test to its verdict, and from its verdict to pass, fail or expected."""

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
from repro.plugin.evidence import SAID_IN_FULL, Evidence, named, outcome_of, past_of
from repro.report.record import Record, finding_data
from repro.runs.profiles import PROFILES

NOTHING_JUDGED = (
    "This claim's test passed without judging anything: assert what trials(...) measured, or what "
    "document(...) says."
)

OPEN_AT = "open at"
"""How the change begins of a finding that took more seeds than there are: it stays as it was."""


@dataclass(frozen=True)
class Gate:
    """Holds findings against the ledger beside their claims."""

    accept: bool
    insist: bool
    """Whether a claim that cannot be run fails."""

    sparing: bool
    """Whether claims that cannot fail, by what the ledger says of them, are left out."""

    seeds: int
    """Those that an arm may use at most."""

    ledgers: dict[Path, Ledger] = field(default_factory=dict)
    """Those that were read, by folder."""

    def judge(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
        evidence: Evidence,
    ) -> None:
        """Set the outcome of a claim's report, and attach the record of its verdict."""
        raised = call.excinfo.value if call.excinfo else None
        if raised is None and not evidence.findings:
            report.outcome, report.longrepr = "failed", NOTHING_JUDGED
            return
        outcome = outcome_of(raised, evidence)
        if outcome is None:
            if isinstance(raised, SAID_IN_FULL):
                report.longrepr = str(raised)
            return  # not a finding but an error in the test or in training: pytest reports it
        command = f'pytest "{item.nodeid}"{self._options(evidence.profile_name)}'
        where = {"command": command, "ledger": str(self._ledger_of(item).path)}
        record = _record(item, outcome, evidence, raised) | where
        entry = self._entry(item, evidence.profile_name, evidence.data)
        accepted = entry.verdict if entry else None
        agrees = self._agrees_with(entry, outcome, evidence) if entry else ""
        record |= {"accepted": accepted, "change": agrees or change(accepted, outcome)}
        short = [("repro.verdict", outcome.value), ("repro.measured", record["measured"])]
        whole = ("repro.record", json.dumps(record, ensure_ascii=False, allow_nan=False))
        report.user_properties += [*short, whole]
        item.user_properties += short  # JUnit XML takes them from the teardown's report
        self._set_result(report, outcome, entry, record, agrees=bool(agrees))

    def spared(self, item: pytest.Item, profile: str, data: Sequence[str]) -> str | None:
        """Why a claim is left out, before anything is trained for it; None where it is judged."""
        entry = self._entry(item, profile, data) if self.sparing else None
        if entry is None or entry.verdict == Outcome.REPRODUCED.value:
            return None
        return f"is {entry.verdict} in the ledger, so it cannot fail: judged without --gate"

    def _options(self, profile: str) -> str:
        """Those that make a session judge a claim as this one does."""
        if profile == ANY_PROFILE:
            return ""
        budget = f" --seed-budget {self.seeds}" if self.seeds != PROFILES[profile].looks[-1] else ""
        return f" --profile {profile}{budget}"

    def _entry(self, item: pytest.Item, profile: str, data: Sequence[str]) -> Entry | None:
        return self._ledger_of(item).entry(claim_id(item), profile, named(data))

    def _ledger_of(self, item: pytest.Item) -> Ledger:
        """The ledger beside the file of a claim."""
        folder = item.path.parent
        if folder not in self.ledgers:
            self.ledgers[folder] = Ledger.read(folder / NAME)
        return self.ledgers[folder]

    def _agrees_with(self, entry: Entry, outcome: Outcome, evidence: Evidence) -> str:
        """What to say of what is open, if it was reproduced otherwise than here and is no smaller.

        On the same kind of machine, at as many seeds, the same code gives the same bits, so that a
        difference has a cause.
        """
        if (outcome, entry.verdict) != (Outcome.INCONCLUSIVE, Outcome.REPRODUCED.value):
            return ""
        accepted = [Excess(*each) for each in entry.past]
        seeds = max((each.seeds for each in accepted), default=0)
        if entry.machine not in ("", evidence.machine):
            said = "open here (reproduced on another machine)"
        elif seeds > self.seeds:
            said = f"{OPEN_AT} {self.seeds} seeds (reproduced at {seeds})"
        else:
            return ""
        return "" if has_shrunk(accepted, past_of(evidence)) else said

    def _set_result(
        self, report: Any, outcome: Outcome, entry: Entry | None, record: Record, *, agrees: bool
    ) -> None:
        if outcome is Outcome.REPRODUCED:
            return
        if outcome is Outcome.NOT_RUN and self.insist:
            report.outcome = "failed"
            report.longrepr = (
                f"{record['text']}\nNot run, and --require-verdict asks for a verdict."
            )
        elif outcome is Outcome.NOT_RUN:
            report.outcome = "skipped"
            report.longrepr = (record["file"], record["line"], f"not run: {record['text']}")
        elif self.accept or agrees or record["accepted"] not in (None, Outcome.REPRODUCED.value):
            report.outcome = "skipped"
            report.wasxfail = f"{outcome.value}: {record['measured']}"
            report.longrepr = (record["file"], record["line"], record["text"])
        else:
            report.outcome = "failed"
            report.longrepr = _explanation(record, entry)


def _rounded(value: float) -> float:
    """To as many digits as matter: a ledger is read by people."""
    return float(f"{value:.5g}")


def _record(
    item: pytest.Item, outcome: Outcome, evidence: Evidence, raised: BaseException | None
) -> Record:
    mark = item.get_closest_marker("claim")
    assert mark is not None
    text = "\n".join(map(str, evidence.findings))
    if not text or outcome is Outcome.NOT_RUN:
        text = str(raised)
    if evidence.remarks:
        text += "\n  " + "; ".join(evidence.remarks)
    file, line, _ = item.location
    profile = evidence.profile_name
    holds = outcome is Outcome.REPRODUCED
    past = past_of(evidence) if holds else []
    return {
        "claim": claim_id(item),
        "sentence": mark.args[0],
        "source": mark.kwargs["source"],
        "documented": mark.kwargs.get("documented", ""),
        "profile": profile,
        "data": named(evidence.data),
        "verdict": outcome.value,
        "p": None if outcome is Outcome.NOT_RUN else evidence.p,
        "measured": evidence.findings[-1].measured if evidence.findings else "",
        "machine": evidence.machine if holds else "",
        "past": [[_rounded(each.mean), _rounded(each.spread), each.seeds] for each in past],
        "text": text,
        "file": file,
        "line": line or 0,
        "about": _about(item),
        "findings": [finding_data(finding) for finding in evidence.findings],
        "arms": list(evidence.arms_used),
        "metrics": list(evidence.metrics_used),
    }


def _about(item: pytest.Item) -> str:
    """What the file of a claim says that it is about, in its first sentences."""
    assert isinstance(item, pytest.Function)
    said = item.module.__doc__ or ""
    return " ".join(said.strip().split("\n\n")[0].split())


def claim_id(item: pytest.Item) -> str:
    """A claim's name in the ledger: its source, its test and its parameters.

    Not its node id, which other plugins rewrite.
    """
    assert isinstance(item, pytest.Function)
    mark = item.get_closest_marker("claim")
    assert mark is not None
    callspec = getattr(item, "callspec", None)
    source = mark.kwargs["source"].split(",")[0].strip()
    name = item.originalname.removeprefix("test_")
    return f"{source}/{name}" + (f"[{callspec.id}]" if callspec else "")


def require_distinct(items: Sequence[pytest.Item]) -> None:
    """Raises ValueError where two claims would be one to a ledger and to a report."""
    known: dict[str, pytest.Item] = {}
    for item in items:
        other = known.setdefault(claim_id(item), item)
        if other is not item:
            raise ValueError(
                f"Two claims are called {claim_id(item)}: {other.nodeid} and {item.nodeid}; a"
                " claim is known by its source and its test's name, so rename one of the tests."
            )


def change(accepted: str | None, outcome: Outcome) -> str:
    """What a verdict changes against the ledger."""
    if outcome is Outcome.NOT_RUN or accepted == outcome.value:
        return ""
    if accepted is None:
        return "new"
    if outcome is Outcome.REPRODUCED:
        return f"better (was {accepted})"
    return f"{'worse' if accepted == Outcome.REPRODUCED.value else 'other'} (was {accepted})"


def _explanation(record: Record, entry: Entry | None) -> str:
    before = f"accepted in the ledger: {entry.verdict}" if entry else "not in the ledger yet"
    if entry and entry.machine:
        before += f" on {entry.machine}"
    return "\n".join(
        [
            f"claimed ({record['source']}): {record['sentence']}",
            f"documented: {record['documented'] or 'no number'}",
            record["text"],
            f"data: {record['data']}; profile: {record['profile']}; {before}",
            f"reproduce with: {record['command']}",
            "accept this finding with: --update-ledger",
        ]
    )
