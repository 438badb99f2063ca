"""Warns at a session's end of a metric whose level has moved since the ledger.

With `--gate-levels` the session fails. Claims compare arms, so no claim finds what moves all alike.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from repro.plugin.command_line import option
from repro.text import shown

if TYPE_CHECKING:
    from repro.judge.level_shift import Shift
    from repro.ledger import Entry
    from repro.report.records import ClaimRecord

NAME = "repro-levels"
"""The name of `Levels` among pytest's plugins, and of the property of claims' reports."""

_SEEDS = -1
"""The place of the number of seeds in a level."""


def level_pairs(entry: Entry, record: ClaimRecord) -> list[list[Any]]:
    """Return each arm's level in the ledger and today, with its data, and the source in the metric.

    A claim that is open has levels too: what moved its arms may be what opened it.
    """
    source = record.claim.partition("/")[0]
    before = {(arm, metric): numbers for arm, metric, *numbers in entry.levels}
    return [
        [record.data, [arm, said, *before[arm, metric]], [arm, said, *now]]
        for arm, metric, *now in record.levels
        if (arm, metric) in before
        for said in [f"{source} {metric}"]
    ]


class Levels:
    """Gathers the levels of all claims in the main process; a plugin of pytest.

    Each is a pair of the ledger's level and today's, as `repro.judge.level_shift` takes them.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._pairs: dict[tuple[str, ...], list[Any]] = {}
        """The levels of each metric of an arm on its data, by the claim with the most seeds."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, text in report.user_properties:
            for data, before, now in json.loads(str(text)) if name == NAME else ():
                known = self._pairs.setdefault((data, *now[:2]), [before, now])
                if now[_SEEDS] > known[1][_SEEDS]:
                    known[:] = before, now

    @property
    def moved(self) -> list[Shift]:
        """The metrics that have moved."""
        if not self._pairs:
            return []
        from repro.judge.level_shift import (  # imports numpy, which few sessions need here
            Level,
            shifts,
        )

        return shifts((Level(*before), Level(*now)) for before, now in self._pairs.values())

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
            said = f"moved since the ledger: {each}"
            terminalreporter.write_line(shown(said), yellow=True)
