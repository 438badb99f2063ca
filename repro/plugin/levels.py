"""Warns at a session's end of a metric that moved in all arms together since the ledger.

With `--gate-levels` the session fails. No claim can find this, since claims compare arms.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from repro.plugin.command_line import option
from repro.text import shown

if TYPE_CHECKING:
    from repro.judge.levels import Shift
    from repro.ledger import Entry
    from repro.report.record import ClaimRecord

NAME = "repro-levels"
"""The name of `Levels` among pytest's plugins, and of the property of claims' reports."""


def level_pairs(entry: Entry, record: ClaimRecord) -> list[tuple[list[Any], list[Any]]]:
    """Return pairs of each arm's level in the ledger and today, with the source in the metric."""
    source = record.claim.partition("/")[0]
    before = {(arm, metric): numbers for arm, metric, *numbers in entry.levels}
    return [
        ([arm, f"{source} {metric}", *before[arm, metric]], [arm, f"{source} {metric}", *now])
        for arm, metric, *now in record.levels
        if (arm, metric) in before
    ]


class Levels:
    """Gathers the levels of all claims in the main process; a plugin of pytest.

    Each is a pair of the ledger's level and today's, as `repro.judge.levels` takes them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._pairs: dict[str, None] = {}
        """Each pair once, as JSON, since claims share arms."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, text in report.user_properties:
            if name == NAME:
                self._pairs.update(dict.fromkeys(map(json.dumps, json.loads(str(text)))))

    @property
    def moved(self) -> list[Shift]:
        """The metrics that have moved."""
        if not self._pairs:
            return []
        from repro.judge.levels import Level, shifts  # imports numpy, which few sessions need here

        pairs = map(json.loads, self._pairs)
        return shifts((Level(*before), Level(*now)) for before, now in pairs)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, None, None]:
        is_asked = option(self._config, "gate-levels")
        if exitstatus == pytest.ExitCode.OK and is_asked and self.moved:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for each in self.moved:
            said = f"moved in all arms together since the ledger: {each}"
            terminalreporter.write_line(shown(said), yellow=True)
