"""From the end of a claim's test to its verdict, and from its verdict to pass, fail or expected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from repro.arm import Needs
from repro.data.locate import DataError
from repro.document import ANY_PROFILE
from repro.executor.protocol import TrainingFailed
from repro.judge import Outcome, Past, Verdict, has_shrunk
from repro.ledger import NAME, Entry, Ledger
from repro.report.record import ArmData, Finding, Record, finding_data

NOTHING_JUDGED = (
    "This claim's test passed without judging anything: assert what trials(...) measured, or what "
    "document(...) says."
)

SAID_IN_FULL = (AssertionError, Needs, TrainingFailed, DataError)
"""How a claim's test ends where a verdict or a sentence takes the place of the traceback."""


class Evidence(Protocol):
    """What a claim's fixture gathered while its test ran."""

    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def p(self) -> float | None:
        """Of the findings together; None where nothing in them is random."""

    @property
    def remarks(self) -> Sequence[str]:
        """What else a reader of the findings has to know."""

    @property
    def profile_name(self) -> str:
        """The profile that the ledger keeps the verdict under."""

    @property
    def data(self) -> Sequence[str]:
        """What the findings are about."""

    @property
    def arms_used(self) -> Sequence[ArmData]:
        """What was trained for them."""

    @property
    def machine(self) -> str:
        """The kind of machine, and whatever else rounds; empty where nothing was trained."""

    @property
    def metrics_used(self) -> Sequence[str]:
        """What they measure."""


@dataclass(frozen=True)
class Gate:
    """Holds findings against the ledger beside their claims."""

    accept: bool
    insist: bool
    """Whether a claim that cannot be run fails."""

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
        outcome = _outcome(raised, evidence)
        if outcome is None:
            if isinstance(raised, SAID_IN_FULL):
                report.longrepr = str(raised)
            return  # not a finding but an error in the test or in training: pytest reports it
        ledger = self._ledger_of(item)
        record = _record(item, outcome, evidence, raised) | {"ledger": str(ledger.path)}
        entry = ledger.entry(record["claim"], record["profile"], record["data"])
        accepted = entry.verdict if entry else None
        agrees = entry is not None and _agrees(entry, outcome, evidence)
        record |= {"accepted": accepted, "change": change(accepted, outcome, agrees=agrees)}
        short = [("repro.verdict", outcome.value), ("repro.measured", record["measured"])]
        whole = ("repro.record", json.dumps(record, ensure_ascii=False, allow_nan=False))
        report.user_properties += [*short, whole]
        item.user_properties += short  # JUnit XML takes them from the teardown's report
        self._set_result(report, outcome, entry, record, agrees=agrees)

    def _ledger_of(self, item: pytest.Item) -> Ledger:
        """The ledger beside the file of a claim."""
        folder = item.path.parent
        if folder not in self.ledgers:
            self.ledgers[folder] = Ledger.read(folder / NAME)
        return self.ledgers[folder]

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


def _agrees(entry: Entry, outcome: Outcome, evidence: Evidence) -> bool:
    """Whether what is open here and was reproduced on another kind of machine is no smaller here.

    On the same kind the same code gives the same bits, so that a difference has a cause.
    """
    return (
        outcome is Outcome.INCONCLUSIVE
        and entry.verdict == Outcome.REPRODUCED.value
        and entry.machine not in ("", evidence.machine)
        and not has_shrunk([Past(*each) for each in entry.past], _past(evidence))
    )


def _past(evidence: Evidence) -> list[Past]:
    """How far past its bound each needed comparison is; nothing where one cannot say."""
    effects = [
        effect
        for finding in evidence.findings
        if isinstance(finding, Verdict)
        for effect in finding.effects
        if effect.needed
    ]
    found = [effect.past for effect in effects if effect.past is not None]
    return found if len(found) == len(effects) else []


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
    option = "" if profile == ANY_PROFILE else f" --profile {profile}"
    holds = outcome is Outcome.REPRODUCED
    past = _past(evidence) if holds else []
    return {
        "claim": claim_id(item),
        "sentence": mark.args[0],
        "source": mark.kwargs["source"],
        "documented": mark.kwargs.get("documented", ""),
        "profile": profile,
        "data": ", ".join(evidence.data) or "none",
        "verdict": outcome.value,
        "p": None if outcome is Outcome.NOT_RUN else evidence.p,
        "measured": evidence.findings[-1].measured if evidence.findings else "",
        "machine": evidence.machine if holds else "",
        "past": [[_rounded(each.mean), _rounded(each.spread), each.seeds] for each in past],
        "text": text,
        "file": file,
        "line": line or 0,
        "command": f'pytest "{item.nodeid}"{option}',
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


def change(accepted: str | None, outcome: Outcome, *, agrees: bool = False) -> str:
    """What a verdict changes against the ledger."""
    if agrees:
        return "open here (reproduced on another machine)"
    if outcome is Outcome.NOT_RUN or accepted == outcome.value:
        return ""
    if accepted is None:
        return "new"
    if outcome is Outcome.REPRODUCED:
        return f"better (was {accepted})"
    return f"{'worse' if accepted == Outcome.REPRODUCED.value else 'other'} (was {accepted})"


def _outcome(raised: BaseException | None, evidence: Evidence) -> Outcome | None:
    judged = {finding.outcome for finding in evidence.findings}
    if raised is None:  # a passing test is no evidence by itself: `assert not (a > b)` passes too
        worst = [o for o in (Outcome.REFUTED, Outcome.INCONCLUSIVE) if o in judged]
        return worst[0] if worst else Outcome.REPRODUCED
    if isinstance(raised, Needs):
        return Outcome.NOT_RUN
    if not isinstance(raised, AssertionError):
        return None
    return Outcome.INCONCLUSIVE if judged and Outcome.REFUTED not in judged else Outcome.REFUTED


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
