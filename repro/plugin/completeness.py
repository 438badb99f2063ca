"""Fails a session in which an expected claim was not judged, so that no finding is lost unseen.

- **Expected**: each selected claim, and each ledger entry of the files and folders that pytest was
  to collect. Where a file is named, so are the entries of ledgers beside it whose files are gone.
- **Judged**: a claim whose report failed, or still has the outcome that repro gave it. A worker of
  xdist may end without a report, and a hook may change a report.
- **Excused**: a claim that exists, but was left out on the command line. Settings and hooks excuse
  nothing.

Claims that are neither judged nor excused fail the session, by name. An entry without a claim fails
it too, since a renamed claim would be new, and pass; `--update-ledger` removes the entry. If
settings or hooks deselect reproduced claims, they are named, and fail with `--gate`. It also fails
where it names no file, and no selected claim got a verdict or was spared.
"""

from __future__ import annotations

import ast
import fnmatch
import os
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from repro.ledger import Entry, Ledger, LedgerError, locked, read_ledgers
from repro.plugin import workers
from repro.plugin.collected import OTHERWISE, SELECTED, Collected, Seen
from repro.plugin.command_line import option
from repro.plugin.options import path_named, places_with_ledgers, runs_no_test
from repro.report.lines import NOT_RUN, REPRODUCED
from repro.text import counted

NAME = "repro-completeness"
"""The name of `Completeness` among pytest's plugins."""

OUTCOME = "repro.outcome"
"""The property of a claim's report with the outcome that repro gave it."""

SPARED = "repro.spared"
"""The property of the report of a claim that `--gate` leaves out, since it cannot fail."""

_SHOWN = 5


class Completeness:
    """Compares the judged claims with the expected ones; a plugin of pytest."""

    def __init__(self, config: pytest.Config, collected: Collected) -> None:
        self._config, self._collected = config, collected
        self._typed = collected.typed
        self._judged: set[str] = set()
        self._failed: set[str] = set()
        self._is_idle = True
        """True while no claim has got a verdict, or was spared by the gate."""
        self.unjudged: list[str] = []
        """The selected claims without a judged report."""
        self.gone: dict[Path, list[str]] = {}
        """The entries of each ledger whose claims are gone."""
        self.renamed: list[str] = []
        """The claims that are gone and seem to be renamed, each as “old to new”."""
        self.left_out: list[str] = []
        """The reproduced claims of the ledgers that settings or hooks leave out."""
        self.unread: list[str] = []
        """The errors of ledgers that became unreadable during the session."""
        self.idle = 0
        """The number of selected claims, if none of them was judged and one has to be."""
        self.has_ended = False
        """True once the session has come to its end."""

    # Judged claims, and the result of the session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = [value for name, value in report.user_properties if name == OUTCOME]
        carried = dict(report.user_properties)
        if carried.get("repro.verdict", NOT_RUN) != NOT_RUN or SPARED in carried:
            self._is_idle = False
        has_ended = report.when == "call" or report.outcome != "passed"
        if report.outcome == "failed":
            self._failed.add(report.nodeid)
        elif has_ended and said == [report.outcome]:
            self._judged.add(report.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, None, None]:
        self.has_ended = True
        nothing = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        has_ended = exitstatus in (*nothing, pytest.ExitCode.TESTS_FAILED)
        is_red = has_ended and not runs_no_test(self._config) and self._is_red(session)
        if is_red:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        yield
        if is_red and session.exitstatus in nothing:  # a hook lets it pass
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _is_red(self, session: pytest.Session) -> bool:
        if (of_workers := workers.of(self._config)) is not None:
            self._collected.take_in(of_workers.told("seen"))
        claims = self._collected.claims.values()
        selected = {seen.nodeid for seen in claims if seen.state == SELECTED}
        unjudged = sorted(selected - self._judged - self._failed)
        if session.shouldfail or session.shouldstop:
            return bool(unjudged)
        self.unjudged = unjudged
        asks = any(getattr(self._typed, name, False) for name in ("lf", "stepwise"))
        if not (asks and self._collected.goes_by_failures):
            self._hold_against_ledgers()
        is_gone = self.gone and not option(self._config, "update-ledger")
        is_left_out = self.left_out and option(self._config, "gate")
        has_failed = not self._failed.isdisjoint(selected)
        self.idle = len(selected) if self._is_idle and self._has_to_judge() else 0
        return bool(unjudged or is_gone or is_left_out or has_failed or self.unread or self.idle)

    def _has_to_judge(self) -> bool:
        """Return whether a session with claims fails where it judges none of them."""
        named = [path_named(self._config, argument) for argument in self._typed.file_or_dir]
        names_folders = not named or any(path.is_dir() for path in named)
        is_allowed = option(self._config, "allow-not-run")
        return bool(option(self._config, "gate") and names_folders and not is_allowed)

    def _hold_against_ledgers(self) -> None:
        """Note the entries without a claim, and those whose claims only settings leave out."""
        config, known = self._config, set()
        by_folder: dict[Path, list[Seen]] = {}
        for seen in self._collected.claims.values():
            by_folder.setdefault(Path(seen.file).parent, []).append(seen)
        # a hook may have changed the first ones
        arguments = {*config.args, *self._typed.file_or_dir}
        named = {path_named(config, argument) for argument in arguments}
        self._collected.paths |= named
        places = {place for path in named for place in places_with_ledgers(config, path)}
        folders = {path.parent for path in self._collected.paths if not path.is_dir()}
        places.update(self._without_files(folders))
        for folder, ledger in self._ledgers(places | self._collected.paths):
            known.add(ledger.path)
            here = by_folder.get(folder, [])
            states = {seen.claim: seen.state for seen in here}
            missing = {entry.claim for entry in ledger.entries.values()} - states.keys()
            if gone := sorted(x for x in missing if not self._is_kept(x, folder, ledger, here)):
                self.gone[ledger.path] = gone
                self.renamed += _renamed(gone, ledger, here)
            self._leave_out(x for x in ledger.entries.values() if states.get(x.claim) == OTHERWISE)
        if not self._typed.file_or_dir and (self._collected.claims or option(config, "gate")):
            root = config.rootpath if option(config, "gate") else config.invocation_params.dir
            wider = places_with_ledgers(config, root)
            for _, ledger in self._ledgers(wider):
                if ledger.path not in known:  # settings name other files or folders
                    self._leave_out(ledger.entries.values())

    def _without_files(self, folders: Iterable[Path]) -> Iterator[Path]:
        """Yield the files of claims that ledgers of these folders are for, and that are gone."""
        for folder, ledger in self._ledgers(folders):
            file = folder / f"{ledger.path.stem}.py"
            if not file.exists():
                yield file

    def _ledgers(self, places: Iterable[Path]) -> Iterator[tuple[Path, Ledger]]:
        """Yield each ledger of some files and folders once, with the folder of its claims."""
        done: set[Path] = set()
        for place in sorted(places):
            try:
                ledgers = read_ledgers(place)
            except LedgerError as error:  # it was sound at the start of the session
                self.unread.append(str(error))
                continue
            yield from (
                (place if place.is_dir() else place.parent, ledger)
                for ledger in ledgers
                if ledger.path not in done
            )
            done.update(ledger.path for ledger in ledgers)

    def _is_kept(self, claim: str, folder: Path, ledger: Ledger, here: list[Seen]) -> bool:
        """Return whether the claim of an entry exists in a file that pytest did not collect.

        The command line has left the file out. With `--update-ledger`, it may also skip itself, or
        have another name than its ledger.
        """
        file, test = folder / f"{ledger.path.stem}.py", _test_of(claim)
        if self._is_ignored(file):
            return True
        has_cases = any(_test_of(seen.claim) == test for seen in here)
        updates = bool(option(self._config, "update-ledger"))
        files = [file] if file.exists() else folder.glob("*.py")
        return updates and not has_cases and any(_has_test(each, test) for each in files)

    def _is_ignored(self, file: Path) -> bool:
        """Return whether the command line ignores a file."""
        start, places = self._config.invocation_params.dir, list(map(str, (file, *file.parents)))
        paths = [os.path.abspath(start / path) for path in self._typed.ignore or ()]
        globs = [os.path.abspath(start / path) for path in self._typed.ignore_glob or ()]
        return any(x in places for x in paths) or any(fnmatch.filter(places, x) for x in globs)

    def _leave_out(self, entries: Iterable[Entry]) -> None:
        """Note the claims of entries that are reproduced, at the session's profile."""
        profile = option(self._config, "profile")
        self.left_out += [
            entry.claim
            for entry in entries
            if entry.verdict == REPRODUCED and entry.is_judged_at(profile)
        ]

    # The terminal

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = list(self.unread)
        if self.unjudged:
            lines.append(
                f"{len(self.unjudged)} claims were collected and never judged:"
                f" {_some(self.unjudged)}. Their process ended without a report, or a hook changed"
                " the report; see the output above."
            )
        if self.idle:
            lines.append(
                f"{counted(self.idle, 'claim')} selected and none judged: --gate asks for a"
                " verdict. Judge one, or allow this with --allow-not-run."
            )
        if self.left_out:
            lines.append(
                "Settings or hooks leave out claims that the ledger has as reproduced:"
                f" {_some(self.left_out)}. Select claims on the command line instead."
            )
        updates = option(self._config, "update-ledger")
        for path, gone in self.gone.items():
            if updates:
                _forget(path, gone)
                said = f"{path}: entries without a claim were removed: {_some(gone)}"
                terminalreporter.write_line(said)
            else:
                lines.append(
                    f"{path} has entries without a claim: {_some(gone)}. If settings leave it out,"
                    " change them; if it was renamed or deleted on purpose, --update-ledger removes"
                    " the entry."
                )
        if self.renamed and not updates:
            lines.append(
                f"Claims with the same sentence look renamed: {_some(self.renamed)}."
                " --update-ledger accepts their verdicts under the new names."
            )
        for line in lines:
            terminalreporter.write_line(line, red=True)


def _test_of(claim: str) -> str:
    """Return the name of a claim's test, from the claim's name."""
    found = re.search(r"/(\w+)(\[.*\])?$", claim, re.DOTALL)
    return found[1] if found else claim


def _has_test(file: Path, name: str) -> bool:
    """Return whether a file defines or imports a test, by its source."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, SyntaxError, ValueError):  # pytest's error says more
        return False
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    found = {node.name for node in nodes if isinstance(node, functions)}
    found |= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    return not found.isdisjoint({name, f"test_{name}"})


def _renamed(gone: list[str], ledger: Ledger, here: list[Seen]) -> list[str]:
    """Return each claim that is gone, if a new claim has its sentence, as “old to new”."""

    def said(claim: str, sentence: str) -> tuple[str, str]:
        return sentence, claim.partition("[")[2]

    new = {said(x.claim, x.sentence): x.claim for x in here if not ledger.of_claim(x.claim)}
    keys = {claim: said(claim, ledger.of_claim(claim)[0].sentence) for claim in gone}
    return [f"{claim} to {new[key]}" for claim, key in keys.items() if key in new]


def _forget(path: Path, claims: list[str]) -> None:
    """Remove the entries of claims from a ledger, under the ledger's lock."""
    try:
        with locked([path.parent.parent]):
            Ledger.read(path).forget(claims)
    except LedgerError as error:
        raise pytest.UsageError(str(error)) from error


def _some(names: Sequence[str]) -> str:
    """Return the first of some names in words, and the number of the others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def require_end(config: pytest.Config) -> None:
    """Raise UsageError where pytest ends well before a session did, in a project with ledgers."""
    balance = config.pluginmanager.getplugin(NAME)
    has_ended = balance is not None and balance.has_ended
    is_help = any(config.getoption(name, None) for name in ("help", "version", "markers"))
    paths = (path_named(config, argument) for argument in config.args)
    places = (place for path in paths for place in places_with_ledgers(config, path))
    if not (has_ended or is_help) and any(map(read_ledgers, places)):
        raise pytest.UsageError("A hook ended pytest before its session did: nothing is judged.")
