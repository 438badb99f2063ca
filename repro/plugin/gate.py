"""From the end of a claim's test to its verdict, and from its verdict to pass, fail or expected."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from repro.arm import Needs
from repro.judge import Outcome, Verdict
from repro.ledger import NAME, Ledger
from repro.plugin.trials import Trials


@dataclass(frozen=True)
class Gate:
    """Holds verdicts against the ledger beside their claims."""

    profile: str
    accept: bool

    def judge(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
        trials: Trials,
    ) -> None:
        """Set the outcome of a claim's report, and attach the record of its verdict."""
        raised = call.excinfo.value if call.excinfo else None
        outcome = _outcome(raised, trials)
        if outcome is None:
            return  # not a finding but an error in the test or in training: pytest reports it
        record = self._record(item, outcome, trials, raised)
        accepted = ledger_of(item).verdict(record["claim"], self.profile, record["data"])
        record["change"] = change(accepted, outcome)
        properties = [
            ("repro.verdict", outcome.value),
            ("repro.measured", record["measured"]),
            ("repro.record", json.dumps(record, ensure_ascii=False)),
        ]
        report.user_properties += properties
        item.user_properties += properties  # JUnit XML takes them from the teardown's report
        self._set_result(report, outcome, accepted, record)

    def _set_result(
        self, report: Any, outcome: Outcome, accepted: str | None, record: dict[str, Any]
    ) -> None:
        if outcome is Outcome.REPRODUCED:
            return
        if outcome is Outcome.NOT_RUN:
            report.outcome = "skipped"
            report.longrepr = (record["file"], record["line"], f"not run: {record['text']}")
        elif self.accept or accepted not in (None, Outcome.REPRODUCED.value):
            report.outcome = "skipped"
            report.wasxfail = f"{outcome.value}: {record['measured']}"
            report.longrepr = (record["file"], record["line"], record["text"])
        else:
            report.outcome = "failed"
            report.longrepr = _explanation(record, accepted)

    def _record(
        self, item: pytest.Item, outcome: Outcome, trials: Trials, raised: BaseException | None
    ) -> dict[str, Any]:
        mark = item.get_closest_marker("claim")
        assert mark is not None
        text = "\n".join(str(verdict) for verdict in trials.judge.verdicts)
        if not text or outcome is Outcome.NOT_RUN:
            text = str(raised) if raised else "holds exactly"
        if trials.diverged:
            text += "\n  " + "; ".join(dict.fromkeys(trials.diverged))
        file, line, _ = item.location
        return {
            "claim": claim_id(item),
            "sentence": mark.args[0],
            "source": mark.kwargs["source"],
            "documented": mark.kwargs.get("documented", ""),
            "profile": self.profile,
            "data": ", ".join(trials.data) or "none",
            "verdict": outcome.value,
            "measured": _measured(trials.judge.verdicts),
            "text": text,
            "file": file,
            "line": line or 0,
            "ledger": str(ledger_of(item).path),
            "command": f'pytest "{item.nodeid}" --profile {self.profile}',
        }


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


def change(accepted: str | None, outcome: Outcome) -> str:
    """What a verdict changes against the ledger."""
    if outcome is Outcome.NOT_RUN or accepted == outcome.value:
        return ""
    if accepted is None:
        return "new"
    if outcome is Outcome.REPRODUCED:
        return f"better (was {accepted})"
    return f"{'worse' if accepted == Outcome.REPRODUCED.value else 'other'} (was {accepted})"


@cache
def _ledger(folder: Path) -> Ledger:
    return Ledger.read(folder / NAME)


def ledger_of(item: pytest.Item) -> Ledger:
    """The ledger beside the file of a claim."""
    return _ledger(item.path.parent)


def _outcome(raised: BaseException | None, trials: Trials) -> Outcome | None:
    judged = {verdict.outcome for verdict in trials.judge.verdicts}
    if raised is None:  # a passing test is no evidence by itself: `assert not (a > b)` passes too
        worst = [o for o in (Outcome.REFUTED, Outcome.INCONCLUSIVE) if o in judged]
        return worst[0] if worst else Outcome.REPRODUCED if judged else None
    if isinstance(raised, Needs):
        return Outcome.NOT_RUN
    if not isinstance(raised, AssertionError):
        return None
    return Outcome.INCONCLUSIVE if judged and Outcome.REFUTED not in judged else Outcome.REFUTED


def _measured(verdicts: list[Verdict]) -> str:
    """The deciding comparison of the last statement, short enough for a table."""
    if not verdicts or not verdicts[-1].effects:
        return ""
    effects = [effect for effect in verdicts[-1].effects if effect.decides]
    weakest = min(effects, key=lambda effect: effect.sd_from_bound)
    shown = f"{weakest.label} = {weakest.estimate:.3g}"
    if weakest.has_spread:
        shown += f" [{weakest.low:.3g}, {weakest.high:.3g}]"
    return f"{shown}, {weakest.seeds} seeds"


def _explanation(record: dict[str, Any], accepted: str | None) -> str:
    before = f"accepted in the ledger: {accepted}" if accepted else "not in the ledger yet"
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
