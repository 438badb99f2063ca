"""No claim is lost, and no entry of a ledger: else the session fails, and names them.

Every claim that was collected must come to a report. Under xdist a worker may end without a word,
by an error of its own or killed by the system. xdist then reports the tests that are left and exits
with 0, unless somebody counts them.

A claim that was reproduced and is renamed would be a new one, and pass. So where a session collects
a whole folder, an entry of its ledger without a claim fails it; `--update-ledger` removes it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from repro.ledger import Ledger, LedgerError, Ledgers, read_ledgers
from repro.plugin import workers
from repro.plugin.claims import name_or_none
from repro.plugin.command_line import is_by_hand, option
from repro.plugin.options import places_with_ledgers
from repro.plugin.workers import Notes
from repro.report.settled import REPRODUCED

NAME = "repro-completeness"
ORPHANS = "repro-orphans"
CLAIMS = "repro.claims"
"""The claims that a worker collected, among what it tells the controller when it has finished."""

_SHOWN = 5

CHOOSING = ("-k", "-m", "--deselect", "--lf", "--last-failed", "--sw", "--stepwise")
"""Options with which somebody chooses tests."""


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
            terminalreporter.write_line(
                f"{len(self.lost)} claims were collected and never judged: {_some(self.lost)}. The"
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
        self.left_out: set[tuple[str, str]] = set()
        """Claims among the known ones that were deselected, in the same form."""
        self.is_partial = False
        self.gone: dict[Path, list[str]] = {}
        """The entries of each ledger whose claims are gone."""
        self.lost: list[str] = []
        """The claims that are reproduced in a ledger, and that settings leave out."""
        self._told = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.left_out |= self._take(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        is_chosen = is_by_hand(session.config, "--ignore", "--ignore-glob", "--lf", "--last-failed")
        self.is_partial |= bool(session.testsfailed) or is_chosen
        self._take(session.items)

    def _take(self, items: Iterable[pytest.Item]) -> set[tuple[str, str]]:
        claims = [item for item in items if item.get_closest_marker("claim")]
        found = {(str(item.path), name_or_none(item) or "") for item in claims}
        self.is_partial |= any(not name for _, name in found)  # it may be any of them
        self.known |= found
        return found

    def told(self) -> dict[str, Any]:
        """Return what a worker tells the controller."""
        known = {"known": sorted(self.known), "left_out": sorted(self.left_out)}
        return {**known, "is_partial": self.is_partial}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {}).get(ORPHANS)
        if told is not None:  # one that crashed says nothing, and others have collected the same
            self._told += 1
            self.known |= {tuple(each) for each in told["known"]}
            self.left_out |= {tuple(each) for each in told["left_out"]}
            self.is_partial |= told["is_partial"]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, None, None]:
        is_red = self._is_red(session, exitstatus)
        if is_red:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        yield
        if is_red:  # also where a hook lets a session without tests pass
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _is_red(self, session: pytest.Session, exitstatus: int) -> bool:
        config = session.config
        was_stopped = session.shouldfail or session.shouldstop
        ended = (
            pytest.ExitCode.OK,
            pytest.ExitCode.TESTS_FAILED,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        )
        if hasattr(config, "workerinput") or was_stopped or exitstatus not in ended:
            return False
        has_workers = config.pluginmanager.hasplugin(workers.NAME)
        if is_about_nothing(config) or (has_workers and not self._told):
            return False
        if not self.is_partial:
            self.gone = dict(self._gone(config))
        by_hand = any("::" in argument for argument in config.invocation_params.args)
        if not by_hand and not is_by_hand(config, *CHOOSING):
            self.lost = list(self._lost(config))
        is_gone = self.gone and not option(config, "update-ledger")
        return bool(is_gone or (self.lost and option(config, "gate")))

    def files(self) -> dict[Path, dict[str, Path]]:
        """Return the file of each claim that there is, by the folder of the file."""
        files: dict[Path, dict[str, Path]] = {}
        for file, name in sorted(self.known):
            files.setdefault(Path(file).parent, {})[name] = Path(file)
        return files

    def _gone(self, config: pytest.Config) -> Iterator[tuple[Path, list[str]]]:
        """Yield the ledgers below what is collected that have entries of no claim, with those.

        A file of claims that was left out as a whole keeps its entries while others are accepted.
        """
        in_folder = self.files()
        for place in places_with_ledgers(config, folders_only=True):
            names = in_folder.get(place.absolute(), {})
            with_claims = {file.stem for file in names.values()}
            try:
                ledgers = read_ledgers(place)
            except LedgerError:  # it went bad meanwhile, which its claims say
                continue
            for ledger in ledgers:
                claims = {entry.claim for entry in ledger.entries.values()}
                is_kept = option(config, "update-ledger") and ledger.path.stem not in with_claims
                is_there = (place / f"{ledger.path.stem}.py").exists()
                if (gone := sorted(claims - names.keys())) and not (is_kept and is_there):
                    yield ledger.path, gone

    def _lost(self, config: pytest.Config) -> Iterator[str]:
        """Yield the claims that were left out though the ledger has them as reproduced."""
        from repro.plugin.gate import is_held_against  # it imports numpy, which few sessions need

        ledgers, profile = Ledgers(), option(config, "profile")
        for file, name in sorted(self.left_out):
            entries = ledgers.of(Path(file)).of_claim(name)
            if any(e.verdict == REPRODUCED and is_held_against(e, profile) for e in entries):
                yield name

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        if self.lost:
            terminalreporter.write_line(
                f"Settings leave out claims that the ledger has as reproduced: {_some(self.lost)}."
                " A selection is for the command line.",
                red=True,
            )
        for path, gone in self.gone.items():
            if option(config, "update-ledger"):
                try:
                    Ledger.read(path).forget(gone)
                except LedgerError as error:
                    raise pytest.UsageError(str(error)) from error
                line = f"{path}: entries without a claim were removed: {_some(gone)}"
            else:
                line = (
                    f"{path} has entries without a claim: {_some(gone)}. If they were renamed or"
                    " deleted on purpose, --update-ledger removes the entries."
                )
            terminalreporter.write_line(line, red=not option(config, "update-ledger"))


def _some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
