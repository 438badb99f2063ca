"""Judges a claim ahead of its test, as soon as its runs are there, for it to be announced.

pytest runs the tests once all is trained, and its report of a test is what counts. What is
announced goes the same way, through the same gate; only fixtures of other plugins are not there.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from _pytest.skipping import evaluate_xfail_marks

from repro.plugin.claims import claim_id
from repro.plugin.gate import Gate
from repro.plugin.gathered import SAID_IN_FULL, Gathered
from repro.report.record import ClaimRecord
from repro.report.settled import ERROR, SettledClaim, settled_claim
from repro.runs.plan import TrainingFailed
from repro.text import shown

FIXTURES = {"trials", "document"}


def call(item: pytest.Item, **fixtures: Any) -> None:
    """Call a claim's test with these fixtures and its parameters; what it prints is not shown."""
    assert isinstance(item, pytest.Function)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        item.obj(**parameters_of(item), **fixtures)


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    """Return the values that a test is parametrized with."""
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec else {}


def needed_of_pytest(item: pytest.Item) -> list[str]:
    """Return what only pytest can give a claim, when its test is run: fixtures, a set-up class."""
    assert isinstance(item, pytest.Function)
    arguments = [name for name in item._fixtureinfo.argnames if name not in FIXTURES]
    given = parameters_of(item).keys()
    set_up = [name for name in ("setup_method", "setup_class") if hasattr(item.cls, name)]
    return [name for name in arguments if name not in given] + set_up


def is_called_alike(item: pytest.Item) -> bool:
    """Return whether `call` comes to the same as pytest: nothing else has a part in the test."""
    others = set(getattr(item, "fixturenames", ())) - FIXTURES - parameters_of(item).keys()
    return not others - {"request"} and evaluate_xfail_marks(item) is None


def announced(
    item: pytest.Item, gate: Gate, evidence: Gathered, **fixtures: Any
) -> SettledClaim | None:
    """Judge a claim now, as its test will be later."""
    outcome = pytest.CallInfo.from_call(
        lambda: call(item, **fixtures), when="call", reraise=(KeyboardInterrupt,)
    )
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
        record = gate.judge(item, outcome, report, evidence).record
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
        is_of_a_document = "document" in getattr(item, "fixturenames", ())
        return settled_claim(record, fails=fails, about_a_document=is_of_a_document)
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
