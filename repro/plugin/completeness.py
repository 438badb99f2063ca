"""No claim is lost, and no entry of a ledger: else the session fails, and names them.

Every claim that was collected must come to a report. Under xdist a worker may end without a word,
by an error of its own or killed by the system. xdist then reports the tests that are left and exits
with 0, unless somebody counts them.

A claim that was reproduced and is renamed would be a new one, and pass. So where a session collects
a whole folder, an entry of its ledger without a claim fails it; `--update-ledger` removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.ledger import Ledger, LedgerError, read_ledgers
from repro.plugin import workers
from repro.plugin.claims import name_or_none
from repro.plugin.command_line import option
from repro.plugin.options import places_with_ledgers
from repro.plugin.workers import Notes

NAME = "repro-completeness"
ORPHANS = "repro-orphans"
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


class Orphans:
    """Knows the claims that there are, also those that are not selected.

    Each of xdist's workers has one, which tells the controller's what it knows.
    """

    def __init__(self) -> None:
        self.known: set[tuple[str, str]] = set()
        """Files and the names of claims in them."""
        self.is_partial = False
        self.found: dict[Path, list[str]] = {}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._take(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        given = session.config.getoption
        self.is_partial |= bool(session.testsfailed or given("ignore") or given("ignore_glob"))
        self.is_partial |= bool(given("lf", False))
        self._take(session.items)

    def _take(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            if item.get_closest_marker("claim"):
                name = name_or_none(item)
                self.is_partial |= name is None  # it may be any of them
                self.known.add((str(item.path), name or ""))

    def told(self) -> dict[str, Any]:
        """Return what a worker tells the controller."""
        return {"known": sorted(self.known), "is_partial": self.is_partial}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {}).get(ORPHANS)
        if told is None:
            self.is_partial = True
            return
        self.known |= {tuple(each) for each in told["known"]}
        self.is_partial |= told["is_partial"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        was_stopped = session.shouldfail or session.shouldstop
        ended = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if hasattr(session.config, "workerinput") or was_stopped or exitstatus not in ended:
            return
        if self.is_partial or is_about_nothing(session.config):
            return
        self.found = dict(self._found(session.config))
        if self.found and not option(session.config, "update-ledger"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def files(self) -> dict[Path, dict[str, Path]]:
        """Return the file of each claim that there is, by the folder of the file."""
        files: dict[Path, dict[str, Path]] = {}
        for file, name in sorted(self.known):
            files.setdefault(Path(file).parent, {})[name] = Path(file)
        return files

    def _found(self, config: pytest.Config) -> Iterator[tuple[Path, list[str]]]:
        in_folder = self.files()
        for place in places_with_ledgers(config, folders_only=True):
            if names := in_folder.get(place.absolute()):
                try:
                    ledgers = read_ledgers(place)
                except LedgerError:  # it went bad meanwhile, which its claims say
                    continue
                for ledger in ledgers:
                    claims = {entry.claim for entry in ledger.entries.values()}
                    if gone := sorted(claims - names.keys()):
                        yield ledger.path, gone

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        for path, gone in self.found.items():
            names = ", ".join(gone[:_SHOWN])
            more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
            if option(config, "update-ledger"):
                try:
                    Ledger.read(path).forget(gone)
                except LedgerError as error:
                    raise pytest.UsageError(str(error)) from error
                line = f"{path}: entries without a claim were removed: {names}{more}"
            else:
                line = (
                    f"{path} has entries without a claim: {names}{more}. If they were renamed or"
                    " deleted on purpose, --update-ledger removes the entries."
                )
            terminalreporter.write_line(line, red=not option(config, "update-ledger"))
