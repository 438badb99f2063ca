"""The display of a session: each claim as it is settled, and below them how far the training is.

A terminal shows the progress in a line that stays in its place, a file collects one at least every
30 seconds. Both get every line at once, so that nothing is lost where a log is cut.
"""

from __future__ import annotations

import shutil
import tempfile
import textwrap
import threading
import time
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
from _pytest._code.code import TracebackEntry

from repro.plugin.watch import Watch, WatchedFolder
from repro.report.progress import progress_line, stopped_line
from repro.report.settled import (
    INCONCLUSIVE,
    NOT_RUN,
    PROPERTY,
    REFUTED,
    REPRODUCED,
    SettledClaim,
    counted_line,
    settled_line,
    unable_line,
)
from repro.text import shown_lines

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_LINES = 25.0
"""A file has a line at least every 30 seconds; looks and a slow disk take some of them."""

WIDTH_OF_A_FILE = 200

NAME = "repro-progress"
"""The name of the display among pytest's plugins, and of its folder among what workers are told."""

SHARED = "repro-shared"
"""The name, among what xdist's workers are told, of the folder in which they share what they do."""

MARKUP = {
    REPRODUCED: {"green": True},
    REFUTED: {"red": True},
    INCONCLUSIVE: {"yellow": True},
}


class ProgressDisplay:
    """Reads what the processes leave, in a thread of the process that owns the session.

    Without a terminal it shows nothing, but still lets training end once `maxfail` claims fail.
    """

    def __init__(self, terminal: pytest.TerminalReporter | None, *, maxfail: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="repro-progress-"))
        self._left = WatchedFolder(self.folder)
        self._screen = Screen(terminal)
        self.is_of_use = terminal is not None or maxfail > 0
        self._maxfail = maxfail
        self._settled: dict[str, SettledClaim] = {}
        self._lock = threading.Lock()
        """The lock of whoever shows something: the thread, or pytest that reports a test."""
        self._told_together: list[SettledClaim] = []
        """Claims of the tests that have run which share a line, told when the last one has run."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="repro-progress", daemon=True)
        self._thread.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Make way for the first claim's test where everything is trained."""
        if not self._stopped.is_set() and self._left.is_trained():
            self._stop()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        texts = [str(text) for name, text in report.user_properties if name == PROPERTY]
        claims = [SettledClaim.from_json(text) for text in texts]
        with self._lock:
            if claims:
                self._screen.count(report.nodeid)
            self._told_together += filter(_shares_a_line, claims)
            self._announce([claim for claim in claims if not _shares_a_line(claim)])
            self._screen.flush()

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        excinfo.traceback = excinfo.traceback.filter(_has_a_line)
        self._stop()
        self._tell_together()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._stop()
        self._tell_together()

    def pytest_terminal_summary(self, exitstatus: int) -> None:
        statuses = self._left.statuses()
        if statuses and exitstatus == pytest.ExitCode.INTERRUPTED:
            self._screen.write(stopped_line(statuses))

    def pytest_unconfigure(self) -> None:
        self._stop()
        self._screen.flush()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self) -> None:
        if not self._stopped.is_set():
            self._stopped.set()
            self._thread.join()
            with self._lock:
                self._take()
                self._screen.erase()
                self._screen.flush()

    def _tell_together(self) -> None:
        told, self._told_together = self._told_together, []
        self._announce(told)
        self._screen.leave()

    def _watch(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_LOOKS):
            with self._lock:
                self._take()
                self._show_progress()
                self._screen.flush()

    def _take(self) -> None:
        """Show what is new; let training end where enough has failed."""
        for line, claims in groupby(self._left.news(), key=_line):
            if line is not None:
                self._screen.write(textwrap.fill(line, self._screen.width, subsequent_indent="  "))
            else:
                self._announce([claim for claim in claims if isinstance(claim, SettledClaim)])
        failed = sum(claim.fails for claim in self._settled.values())
        if self._maxfail and failed >= self._maxfail:
            self._left.stop_training()

    def _announce(self, claims: list[SettledClaim]) -> None:
        new = {c.name: c for c in claims if c.name not in self._settled}
        self._settled |= new
        if counted := [claim for claim in new.values() if claim.is_only_counted]:
            self._screen.write(counted_line(counted), coloured=REPRODUCED)
        for claim in new.values():
            if not claim.is_only_counted and claim.verdict != NOT_RUN:
                line = settled_line(claim, width=self._screen.width)
                self._screen.write(line, coloured=claim.verdict)
            if claim.details:
                details = textwrap.indent(shown_lines(claim.details), "    ")
                self._screen.write(details.rstrip())
        reasons = Counter(claim.measured for claim in new.values() if claim.verdict == NOT_RUN)
        for reason, count in reasons.items():
            self._screen.write(unable_line(reason, count)[: self._screen.width])

    def _show_progress(self) -> None:
        statuses = self._left.statuses()
        if any(status.missing for status in statuses):
            trained = [each for each in self._settled.values() if not each.about_a_document]
            counts = Counter(claim.verdict for claim in trained)
            now, width = time.monotonic(), self._screen.width
            self._screen.keep(progress_line(statuses, counts, now=now, width=width))


def _has_a_line(entry: TracebackEntry) -> bool:
    """Tell whether pytest can show where this was: Python compiles some instructions to no line."""
    try:
        return entry.lineno >= 0
    except TypeError:  # pytest subtracts one from None
        return False


def _shares_a_line(claim: SettledClaim) -> bool:
    """Tell whether a claim is counted with others: its statement holds, or it was not run."""
    is_short = not claim.fails and not claim.details
    return is_short and (claim.is_only_counted or claim.verdict == NOT_RUN)


def _line(news: str | SettledClaim) -> str | None:
    return news if isinstance(news, str) else None


class Screen:
    """A terminal with lines that stay and one below that changes, or a file of lines."""

    def __init__(self, terminal: pytest.TerminalReporter | None) -> None:
        self._terminal = terminal
        self._is_live = terminal is not None and bool(terminal.isatty)
        self._is_shown = False
        self._erased = 0
        """The width that pytest takes a line for which was erased."""
        self._written = time.monotonic()

    @property
    def width(self) -> int:
        """The number of characters that a line may have."""
        return shutil.get_terminal_size().columns - 1 if self._is_live else WIDTH_OF_A_FILE

    def write(self, line: str, *, coloured: str = "") -> None:
        """Write a line that stays; the verdict that it begins with has its colour."""
        if self._terminal is None:
            return
        file = self._terminal.currentfspath
        self.erase()
        self._start_line()
        self._terminal.currentfspath = None
        self._terminal.write(coloured, **MARKUP.get(coloured, {}))
        self._terminal.write_line(line.removeprefix(coloured))
        if self._terminal.verbosity == 0:
            self._terminal.currentfspath = file  # else pytest names the file before each test
        self._written = time.monotonic()
        self._erased = 0

    def keep(self, line: str) -> None:
        """Show a line in its place; a file gets it when it has had none for long."""
        if self._terminal is None:
            return
        if self._is_live:
            self._start_line()
            self._terminal.rewrite(line, erase=True)
            self._is_shown = True
        elif time.monotonic() - self._written > SECONDS_BETWEEN_LINES:
            self.write(line)

    def erase(self) -> None:
        """Take away the line that changes."""
        if self._terminal is not None and self._is_shown:
            self._terminal.rewrite("", erase=True)
            self._terminal.rewrite("")  # back to the start of the line
            self._erased = self._terminal._tw.width_of_current_line
        self._is_shown = False

    def _start_line(self) -> None:
        """Leave the line on which pytest has written of tests that went before."""
        if self._terminal is not None and not self._is_shown:
            writer = self._terminal._tw
            if writer.width_of_current_line != self._erased:
                self._terminal.ensure_newline()
                if writer.width_of_current_line:  # letters, under xdist
                    self._terminal.write_line("")
                self._erased = 0

    def count(self, nodeid: str) -> None:
        """Count a test without a letter among those that pytest's percentage is of."""
        reported: set[str] | None = getattr(self._terminal, "_progress_nodeids_reported", None)
        if reported is not None and self._terminal is not None and self._terminal.verbosity == 0:
            reported.add(nodeid)

    def leave(self) -> None:
        """Let pytest begin with what comes after the tests; no file is being told of any more."""
        if self._terminal is not None:
            self._terminal.ensure_newline()

    def flush(self) -> None:
        """Let all that was written come out."""
        if self._terminal is not None:
            self._terminal.flush()


def display_of(config: pytest.Config) -> ProgressDisplay:
    """Return the display of the process that owns the session; start it when first asked for."""
    plugins = config.pluginmanager
    if not plugins.hasplugin(NAME):
        terminal = plugins.getplugin("terminalreporter")
        is_quiet = config.get_verbosity() < 0
        maxfail = config.getoption("maxfail", None) or 0
        plugins.register(ProgressDisplay(None if is_quiet else terminal, maxfail=maxfail), NAME)
    display: ProgressDisplay = plugins.getplugin(NAME)
    return display


def watch_for(config: pytest.Config) -> Watch:
    """Return that with which this process tells the display, here or from a worker."""
    given = getattr(config, "workerinput", None)
    folder = folder_for(config) if given is None else given.get(NAME)
    return Watch(Path(folder) if folder else None)


def folder_for(config: pytest.Config) -> str:
    """Return the folder that processes leave their news in; empty where nobody reads them."""
    display = display_of(config)
    return str(display.folder) if display.is_of_use else ""


def shared_folder(config: pytest.Config) -> Path | None:
    """Return the folder that the processes of a session share; None where there is only one."""
    given = getattr(config, "workerinput", {}).get(SHARED)
    return Path(given) if given else None
