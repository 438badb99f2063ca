"""Entries of a ledger whose claim is gone: renamed or deleted, and so not judged by anybody.

A claim that was reproduced and is renamed would be a new one, and pass. So where a session collects
a whole folder, an entry of its ledger without a claim fails it; `--update-ledger` removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.ledger import Ledger, LedgerError, read_ledgers
from repro.plugin.claims import name_or_none
from repro.plugin.command_line import option
from repro.plugin.completeness import is_about_nothing
from repro.plugin.options import places_with_ledgers

NAME = "repro-orphans"

_SHOWN = 5


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
        told = getattr(node, "workeroutput", {}).get(NAME)
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
