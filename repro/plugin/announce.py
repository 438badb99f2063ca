"""Judges a claim ahead of its test, as soon as its runs are there, for it to be announced.

pytest runs the tests once all is trained, and its report of a test is what counts. What is
announced goes the same way, through the same gate; only fixtures of other plugins are not there.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from repro.plugin.claims import claim_id, is_about_a_document
from repro.plugin.gate import Compared, Gate
from repro.plugin.gathered import SAID_IN_FULL, Gathered
from repro.report.record import ClaimRecord
from repro.report.settled import ERROR, SettledClaim, settled_claim
from repro.runs.plan import TrainingFailed
from repro.text import shown


def announced(
    item: pytest.Item,
    gate: Gate,
    evidence: Gathered,
    test: Callable[[], None],
    compared: Compared | None = None,
) -> SettledClaim | None:
    """Judge a claim now, as its test will be later, by the end of this call of the test."""
    outcome = pytest.CallInfo.from_call(test, when="call", reraise=(KeyboardInterrupt,))
    report = pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed" if outcome.excinfo else "passed",
        longrepr=None,
        when="call",
    )
    kept = list(item.user_properties)
    try:
        record = gate.judge(item, outcome, report, evidence, compared).record
    finally:
        item.user_properties[:] = kept
    return settled_of(item, outcome, report, record)


def settled_of(
    item: pytest.Item,
    outcome: pytest.CallInfo[None],
    report: pytest.TestReport,
    record: ClaimRecord | None,
) -> SettledClaim | None:
    """Return what is announced of a claim whose report has been judged; None of a skipped one."""
    fails = report.outcome == "failed"
    if record is not None:
        return settled_claim(record, fails=fails, about_a_document=is_about_a_document(item))
    raised = outcome.excinfo.value if outcome.excinfo else None
    if not fails or isinstance(raised, pytest.skip.Exception | pytest.xfail.Exception):
        return None
    why = str(report.longrepr or "")
    if raised is not None and not isinstance(raised, SAID_IN_FULL):
        why = f"{type(raised).__name__}: {raised}"
    details = ""
    if isinstance(raised, TrainingFailed):
        why, details = str(raised), raised.details
    return SettledClaim(
        name=claim_id(item), verdict=ERROR, measured=shown(why), fails=True, details=details
    )
