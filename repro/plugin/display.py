"""The display of a session: a line for each judged claim, and below them the training progress.

On a terminal the progress is one line that is rewritten; a file gets a line at least every 30
seconds. Every line is flushed at once, so that an interrupted log is complete.
"""

from __future__ import annotations

import shutil
import textwrap
import time
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from repro.report.lines import (
    INCONCLUSIVE,
    NOT_RUN,
    PROPERTY,
    REFUTED,
    REPRODUCED,
    ClaimLine,
    counted_line,
    known_line,
    progress_line,
    stopped_line,
    verdict_line,
)
from repro.runs.time_left import Status
from repro.text import shown_lines

SECONDS_BETWEEN_LINES = 25.0
"""Less than 30 seconds, since waiting and a slow disk take some of them."""

WIDTH_OF_A_FILE = 200

MOST_KNOWN = 8
"""Verdicts equal to the ledger's that get a line each; further ones are only counted."""

NAME = "repro-display"
"""The name of the display among pytest's plugins."""

MARKUP = {
    REPRODUCED: {"green": True},
    REFUTED: {"red": True},
    INCONCLUSIVE: {"yellow": True},
}
"""The colours of verdicts."""


class Display:
    """Shows the claims of pytest's reports, and the progress of training; a plugin of pytest.

    A terminal has permanent lines, and one changing line below them. A quiet session has none.
    """

    def __init__(self, terminal: pytest.TerminalReporter | None, *, is_brief: bool = True) -> None:
        self._terminal, self._is_brief = terminal, is_brief
        self._is_live = terminal is not None and bool(terminal.isatty)
        self._is_shown = False
        """True while the changing line is on the terminal."""
        self._written = time.monotonic()
        self._counts: Counter[str] = Counter()
        """The number of judged claims with training, by verdict."""
        self._counted: list[ClaimLine] = []
        """Claims that share a line, which is written after the last test."""
        self._known = 0
        """The number of claims whose verdict is the one in the ledger."""
        self._status: Status | None = None

    # The progress of training

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self._write(textwrap.fill(line, self._width, subsequent_indent="  "))

    def show(self, status: Status) -> None:
        """Show the progress of training in place of the former; a file gets a line now and then."""
        self._status = status
        if self._terminal is None:
            return
        if not status.missing:
            self._erase()
            self._terminal.flush()
            return
        line = progress_line(status, self._counts, width=self._width)
        if self._is_live:
            if not self._is_shown:
                self._start_line()
            self._terminal.rewrite(line, erase=True)
            self._terminal.flush()
            self._is_shown = True
        elif time.monotonic() - self._written > SECONDS_BETWEEN_LINES:
            self._write(line)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._erase()  # pytest may name the next file, in a new line

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self._erase()

    # Judged claims

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, text in report.user_properties:
            if name == PROPERTY:
                self._announce(ClaimLine.from_json(str(text)))

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, Any, Any]:
        """Show no letter for a claim among the dots, since it has a line of its own."""
        status = yield
        is_announced = any(name == PROPERTY for name, _ in getattr(report, "user_properties", ()))
        return (status[0], "", status[2]) if is_announced and self._is_brief else status

    def _announce(self, claim: ClaimLine) -> None:
        if not claim.about_a_document:
            self._counts[claim.verdict] += 1
        if claim.is_only_counted:
            self._counted.append(claim)
        if claim.is_only_counted or (claim.verdict == NOT_RUN and not claim.fails):
            return  # the summary has the reasons of claims that were not run
        if claim.is_known and not (self._terminal and self._terminal.verbosity > 0):
            self._known += 1
            if self._known > MOST_KNOWN:
                return
        self._write(verdict_line(claim, width=self._width), coloured=claim.verdict)
        if claim.details:
            self._write(textwrap.indent(shown_lines(claim.details), "    ").rstrip())

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._erase()
        if self._counted:
            self._write(counted_line(self._counted), coloured=REPRODUCED)
        if self._known > MOST_KNOWN:
            self._write(known_line(self._known - MOST_KNOWN))
        if self._terminal is not None:
            self._terminal.ensure_newline()

    def pytest_terminal_summary(self, exitstatus: int) -> None:
        if self._status is not None and exitstatus == pytest.ExitCode.INTERRUPTED:
            self._write(stopped_line(self._status))

    # The terminal

    @property
    def _width(self) -> int:
        """The largest number of characters in a line."""
        return shutil.get_terminal_size().columns - 1 if self._is_live else WIDTH_OF_A_FILE

    def _write(self, line: str, *, coloured: str = "") -> None:
        """Write a permanent line; the verdict at its beginning is coloured."""
        if self._terminal is None:
            return
        file = self._terminal.currentfspath
        self._erase()
        self._start_line()
        self._terminal.currentfspath = None
        self._terminal.write(coloured, **MARKUP.get(coloured, {}))
        self._terminal.write_line(line.removeprefix(coloured))
        if self._terminal.verbosity == 0:
            self._terminal.currentfspath = file  # else pytest names the file before each test
        self._terminal.flush()
        self._written = time.monotonic()

    def _erase(self) -> None:
        """Remove the changing line."""
        if self._terminal is not None and self._is_shown:
            self._terminal.rewrite("", erase=True)
            self._terminal.rewrite("")  # back to the start of the line
            self._terminal._tw._current_line = ""  # pytest would think that the line has text
        self._is_shown = False

    def _start_line(self) -> None:
        """Start a new line if pytest has written on this one."""
        if self._terminal is not None and self._terminal._tw.width_of_current_line:
            self._terminal.currentfspath = None
            self._terminal._tw.line()


def display_of(config: pytest.Config) -> Display:
    """Return the display of the main process; the first call makes it."""
    plugins = config.pluginmanager
    if not plugins.hasplugin(NAME):
        terminal = plugins.getplugin("terminalreporter")
        verbosity = config.getoption("verbose", 0)
        display = Display(None if verbosity < 0 else terminal, is_brief=verbosity == 0)
        plugins.register(display, NAME)
    known: Display = plugins.getplugin(NAME)
    return known
