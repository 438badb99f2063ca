"""What is shown while claims train: on a terminal, in a file, to the quiet, and after Ctrl-C."""

import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from repro.plugin.progress import display_of
from tests.plugin.sessions import change

LINE = re.compile(r"\d+/20 runs, 1/4 claims decided, about \d+:\d\d left")


def start(project, *options, **where):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    return subprocess.Popen(
        command,
        cwd=project.path,
        start_new_session=True,
        preexec_fn=hears_ctrl_c,
        **where,
    )


def hears_ctrl_c():
    """What a shell starts in the background is deaf to it, and so is all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.processes
def test_a_terminal_shows_one_line_in_place(outside_project):
    change(outside_project, "sleep(0)", "sleep(0.3)")  # so that there is something to see
    ours, theirs = pty.openpty()
    session = start(outside_project, "-n", "2", stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(ours, 4096)
        except OSError:  # how a terminal says that nobody writes to it any more
            break
    os.close(ours)
    session.wait()
    shown = text.decode()
    assert len(LINE.findall(shown)) > 2
    assert all("\n" not in part for part in re.findall(r"\r\d+/20 runs[^\r]*", shown)[:-1])
    assert "2 reproduced, 1 refuted" in shown


@pytest.mark.processes
def test_ctrl_c_stops_within_seconds_and_says_how_to_go_on(project):
    slow = "def loss(self, x):\n        __import__('time').sleep(0.1)"
    change(project, "def loss(self, x):", slow)  # a second a run: Ctrl-C comes in the middle
    session = start(project, "-n", "2", stdout=subprocess.PIPE, text=True)
    runs = project.path / "store" / "runs"
    deadline = time.monotonic() + 60
    while not list(runs.rglob("result.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    began = time.monotonic()
    os.killpg(session.pid, signal.SIGINT)  # as a terminal does
    shown, _ = session.communicate()
    assert time.monotonic() - began < 10
    assert session.returncode == pytest.ExitCode.INTERRUPTED, shown
    assert re.search(r"stopped with at least \d+ of \d+ runs stored; the same command", shown)


def test_the_quiet_see_nothing(pytester):
    assert display_of(pytester.parseconfigure("-q")) is None
    assert display_of(pytester.parseconfigure("-p", "no:terminal")) is None
