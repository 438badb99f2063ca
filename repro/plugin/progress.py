"""The live line, also under xdist: each process leaves its status in a file for a display to read.

xdist shows nothing that a worker prints and carries no events of its own, hence the files.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from repro.files import write_beside
from repro.report.progress import progress_line, stopped_line
from repro.runs.progress import Status

SECONDS_BETWEEN_FILES = 0.5
SECONDS_BETWEEN_LINES = {True: 0.5, False: 30.0}
"""By whether a terminal shows the line in place, or a file collects one line after another."""


NAME = "repro-progress"
"""The name of the display among pytest's plugins, and of its folder among what workers are told."""


class StatusFile:
    """The file in which a process leaves its status for the display."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{os.getpid()}.json"
        self._written = 0.0

    def write(self, status: Status) -> None:
        """Leave a status, unless one was just left; losing one loses nothing."""
        if time.monotonic() - self._written < SECONDS_BETWEEN_FILES:
            return
        try:
            write_beside(self._path, status.as_json())
        except OSError:
            return  # no room, or the reader has gone
        self._written = time.monotonic()


class ProgressDisplay:
    """Reads statuses and shows them, from a thread of the process that owns the terminal."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="repro-progress-"))
        self._terminal = terminal
        self._stopped = threading.Event()
        self._shown = False
        self._thread = threading.Thread(target=self._show, name="repro-progress", daemon=True)
        self._thread.start()

    def pytest_runtest_logstart(self) -> None:
        """The first test starts, so all is trained: the line makes way."""
        self._stop()

    def pytest_terminal_summary(self, exitstatus: int) -> None:
        self._stop()
        statuses = self._statuses()
        if statuses and exitstatus == pytest.ExitCode.INTERRUPTED:
            self._terminal.write_line(stopped_line(statuses))

    def pytest_unconfigure(self) -> None:
        self._stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        if self._shown and self._terminal.isatty:
            self._terminal.rewrite("", erase=True)
        self._shown = False

    def _show(self) -> None:
        terminal, live = self._terminal, bool(self._terminal.isatty)
        while not self._stopped.wait(SECONDS_BETWEEN_LINES[live]):
            statuses = self._statuses()
            if not any(status.missing for status in statuses):
                continue
            width = shutil.get_terminal_size().columns - 1 if live else 200
            line = progress_line(statuses, now=time.time(), width=width)
            if live:
                terminal.rewrite(line, erase=True)
            else:
                terminal.write_line(line)
            self._shown = True

    def _statuses(self) -> list[Status]:
        statuses = []
        for path in self.folder.glob("*.json"):
            try:
                statuses.append(Status.from_json(path.read_text()))
            except (OSError, ValueError, TypeError, KeyError):
                continue  # gone, or not whole
        return statuses


def display_of(config: pytest.Config) -> ProgressDisplay | None:
    """Return the display of the process that owns the terminal; start it when first asked for.

    None where there is no terminal report, or where it was asked to be quiet.
    """
    plugins = config.pluginmanager
    terminal = plugins.getplugin("terminalreporter")
    if terminal is None or config.get_verbosity() < 0:
        return None
    if not plugins.hasplugin(NAME):
        plugins.register(ProgressDisplay(terminal), NAME)
    display: ProgressDisplay = plugins.getplugin(NAME)
    return display


def watch_for(config: pytest.Config) -> Callable[[Status], None]:
    """Return the function that takes the statuses of this process, here or in a worker."""
    given = getattr(config, "workerinput", None)
    if given is not None:
        folder = given.get(NAME)
    else:
        display = display_of(config)
        folder = display.folder if display else None
    return StatusFile(Path(folder)).write if folder else lambda status: None
