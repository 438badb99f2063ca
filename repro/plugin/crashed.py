"""The tests of a worker that ended in training: they have not been run, so another worker has them.

xdist blames the first test that a lost worker had before it. But a worker trains before it runs its
first claim, and the claim may have nothing to do with what was in training.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

NAME = "repro-unstarted"

UNSTARTED = "rerun"
"""The outcome that xdist's documentation gives the report of a test that is to be run again."""


class Unstarted:
    """Has the tests that no worker has started run by another one; on xdist's controller."""

    def __init__(self) -> None:
        self.started: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.started.add(nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        if crashitem not in self.started:
            with suppress(NotImplementedError):  # by --dist loadscope, loadfile, loadgroup and each
                sched.mark_test_pending(crashitem)
                report.outcome = UNSTARTED  # type: ignore[assignment]

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        return ("", "", "") if report.outcome == UNSTARTED else None
