"""No claim is lost: every claim that was collected must come to a report, or the session fails.

Under xdist a worker may end without a word, by an error of its own or killed by the system. The
controller then reports the tests that are left and exits with 0, unless somebody counts them.
"""

from __future__ import annotations

from typing import Any

import pytest

from repro.plugin import workers
from repro.plugin.command_line import option
from repro.plugin.workers import Notes

NAME = "repro-completeness"
CLAIMS = "repro.claims"
"""The claims that a worker collected, among what it tells the controller when it has finished."""

_SHOWN = 5


class Completeness:
    """Counts claims in the process that owns the session: pytest's only one, or the controller."""

    def __init__(self) -> None:
        self.collected: set[str] = set()
        self.reported: set[str] = set()
        self.lost: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not session.config.getoption("collectonly"):
            self.collected.update(claims_among(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.collected.update(getattr(node, "workeroutput", {}).get(CLAIMS, ()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reported.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        was_stopped = session.shouldfail or session.shouldstop
        ended = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if (notes := _notes(session.config)) is not None:
            self.collected.update(notes.claims())  # also those of a worker that was killed
        if exitstatus in ended and not was_stopped and not is_about_nothing(session.config):
            self.lost = sorted(self.collected - self.reported)
        if self.lost:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.lost:
            names = ", ".join(self.lost[:_SHOWN])
            more = f" and {len(self.lost) - _SHOWN} more" if len(self.lost) > _SHOWN else ""
            terminalreporter.write_line(
                f"{len(self.lost)} claims were collected and never judged: {names}{more}. The"
                " process that had them ended without a report; what it said is above.",
                red=True,
            )


def _notes(config: pytest.Config) -> Notes | None:
    plugin = config.pluginmanager.getplugin(workers.NAME)
    return plugin.notes if plugin is not None else None


def claims_among(items: list[pytest.Item]) -> list[str]:
    """Return the node ids of the claims among tests."""
    return [item.nodeid for item in items if item.get_closest_marker("claim")]


def is_about_nothing(config: pytest.Config) -> bool:
    """Return whether the session judges nothing on purpose."""
    return bool(option(config, "plan") or config.getoption("setupplan", False))
