"""What is shown while claims train: on a terminal, in a file, to the quiet, and after Ctrl-C."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tests.plugin.sessions import change

pytestmark = pytest.mark.thorough

TRAINS = """print("a word from training")
    while arm.target >= 8 and not Path("go").exists():
        time.sleep(0.01)
    if arm.target == 7:
        raise ValueError("no seven")
    return {"slope": arm.target + 0.01 * seed}
"""

CLAIMS = """
import pytest
from repro import claim
from line import Line

@claim("dear", source="900, Text")
@pytest.mark.parametrize("target", [8.0, 9.0])
def test_dear(trials, target):
    assert trials(Line(target=target)).slope > 0

@claim("cheap", source="900, Text")
def test_cheap(trials):
    assert trials(Line(target=2.0)).slope > 0

@claim("stored", source="900, Text")
def test_stored(trials):
    assert trials(Line(target=5.0)).slope > 0

@claim("too large", source="900, Text", only_at="paper")
def test_large(trials):
    assert trials(Line()).slope > 0

@claim("1 = 3", source="901, Text")
def test_sums(document):
    assert document("1").agrees_with("3")

@claim("half of 4 is 2", source="901, Text")
@pytest.mark.parametrize("n", range(3))
def test_halves(document, n):
    assert document("2").agrees_with("2")
"""


@pytest.fixture
def gated(outside_project):
    """Claims of which the dear ones train until the file `go` is there."""
    outside_project.makepyfile(test_lines=CLAIMS)
    change(outside_project, "import random", "import random\nfrom pathlib import Path")
    change(outside_project, "1e8 * self.target", "1e11 * self.target")
    change(outside_project, "time.sleep(0)", TRAINS)
    return outside_project


def hears_ctrl_c():
    """What a shell starts in the background is deaf to it, and so is all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def session_in(project, *options, **where):
    """A session that is ended when the block is left, whatever happens in it."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    session = subprocess.Popen(
        command,
        cwd=project.path,
        start_new_session=True,
        preexec_fn=hears_ctrl_c,
        **where,
    )
    try:
        yield session
    finally:
        (project.path / "go").touch()
        if session.poll() is None:
            os.killpg(session.pid, signal.SIGKILL)
        session.wait()


def until(read, pattern, session, seconds=60):
    """Wait for a pattern in a text that grows; the text."""
    deadline = time.monotonic() + seconds
    while not re.search(pattern, text := read()):
        assert time.monotonic() < deadline, text
        assert session.poll() is None, read()
        time.sleep(0.05)
    return text


def screen_of(written):
    """The lines that a terminal shows: what is written from a line's start takes its place."""
    lines = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", written).replace("\r\n", "\n").split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return lines


class Terminal:
    """A terminal that a session writes to."""

    def __init__(self):
        self._ours, self.theirs = pty.openpty()
        os.set_blocking(self._ours, False)
        self._written = b""

    def read(self):
        while True:
            try:
                self._written += os.read(self._ours, 4096)
            except OSError:  # nothing more by now, or nobody has it open any more
                return self._written.decode(errors="replace")

    def screen(self):
        return "\n".join(screen_of(self.read()))


EVENTS = [
    r"test session starts",
    r"refuted +901/sums \(new\)",
    r"[34] claims wait for (15|20) runs",
    r"reproduced +900/(cheap|stored) \(new\)  line.*, 5 seeds",
]
"""What a session shows, in this order, while its dear claims still train."""

BOTH = r"900/cheap (?s:.*)900/stored |900/stored (?s:.*)900/cheap "
"""The claims that are settled meanwhile; they train side by side, and either may be the first."""

AFTER = [
    r"reproduced +900/dear\[[89]\.0\]",
    r"reproduced +3 printed statements are consistent \(901: 3\)",
    r"=+ claims =+",
    r"not run: 1, is judged at one size only",
]


def are_in_order(events, text):
    found = [re.search(event, text) for event in events]
    assert all(found), (dict(zip(events, found, strict=True)), text)
    places = [match.start() for match in found]
    return places == sorted(places)


LIVE = r"\[█+ *\] 2/4 claims, "
"""The line below the verdicts, which takes its own place on a terminal again and again."""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_file_has_each_verdict_when_it_falls(gated, workers):
    log = gated.path / "log"
    with log.open("w") as file, session_in(gated, *workers, stdout=file) as session:
        text = until(log.read_text, BOTH, session)
        assert are_in_order(EVENTS, text)
        assert not re.search(AFTER[0], text)
        (gated.path / "go").touch()
        session.wait(120)
    text = log.read_text()
    assert are_in_order([*EVENTS, *AFTER], text)
    for name in ("cheap", r"dear\[8.0\]", r"dear\[9.0\]", "stored"):
        assert len(re.findall(rf"^reproduced +900/{name} ", text, re.MULTILINE)) == 1
    if not workers:
        before = text.partition("= FAILURES =")[0]
        assert before.count("test_lines.py") == 1  # a file is named once
    assert "a word from training" not in text
    assert "\r" not in text


def test_an_error_in_training_is_shown_with_what_it_printed(gated):
    claims = (gated.path / "test_lines.py").read_text()
    (gated.path / "test_lines.py").write_text(claims.replace("target=5.0", "target=7.0"))
    (gated.path / "go").touch()
    with session_in(
        gated, "-n", "2", "--report", "report", stdout=subprocess.PIPE, text=True
    ) as session:
        shown, _ = session.communicate(timeout=120)
    page = (gated.path / "report" / "index.html").read_text()
    folded = re.search(r"<details><summary>What it said</summary>(?s:.*?)</details>", page)
    assert "raise ValueError" in folded[0]
    assert "a word from training" in folded[0]
    middle = shown[: shown.index("= FAILURES =")]
    found = re.search(
        r"error +900/stored  line target 7.0, seed \d+, failed to train: ValueError: no seven\n"
        r" +Traceback[^\n]*\n(?: {4}[^\n]*\n)* +ValueError: no seven\n"
        r" +It had printed:\n +a word from training\n",
        middle,
    )
    assert found, shown
    assert "repro/core" not in found[0]
    end = shown[shown.index("= FAILURES =") :]
    assert "failed to train: ValueError: no seven" in end
    full, _, _ = shown.partition("= short test summary info")  # under CI pytest repeats it there
    assert full.count("a word from training") == 2


OF_PYTHON = re.compile(
    r"[^\n]*Exception ignored in.*? in cb\n *KeyboardInterrupt\n.*?Warning\(msg\)\)\n", re.DOTALL
)
"""The words of pytest where the signal came while Python freed the lock of a module's import.

No program can catch that: Python prints it and goes on.
"""


@pytest.mark.parametrize(("moment", "options"), [(r"claims wait for", ("-n", "2")), (LIVE, ())])
def test_ctrl_c_leaves_a_readable_screen_and_the_same_command_goes_on(gated, options, moment):
    claims = gated.path / "test_lines.py"
    claims.write_text(claims.read_text().replace('agrees_with("3")', 'agrees_with("1")'))
    terminal = Terminal()
    streams = {"stdout": terminal.theirs, "stderr": terminal.theirs}
    with session_in(gated, *options, **streams) as session:
        os.close(terminal.theirs)
        until(terminal.screen, moment, session)
        if moment == LIVE:
            assert len(re.findall(r"\r\[[█ ]+\] \d/\d claims", terminal.read())) > 1
            assert len(re.findall("claims, ", terminal.screen())) == 1
        os.killpg(session.pid, signal.SIGINT)  # as a terminal does
        session.wait(30)
    screen = OF_PYTHON.sub("", terminal.screen())
    assert session.returncode == pytest.ExitCode.INTERRUPTED, screen
    assert re.search("KeyboardInterrupt|received keyboard-interrupt", screen), screen
    for unreadable in ("Traceback", "INTERNALERROR", "Exception ignored", "claims, "):
        assert unreadable not in screen
    assert not any(re.search(r"\w!!!|!!!\w|\w===|===\w", line) for line in screen.split("\n")), (
        screen
    )
    stored = int(re.search(r"stopped with at least (\d+) of \d+ runs stored; the same", screen)[1])
    (gated.path / "go").touch()
    with session_in(gated, *options, stdout=subprocess.PIPE, text=True) as session:
        shown, _ = session.communicate(timeout=120)
    now = re.search(r"20 distinct runs needed: (\d+) trained now, the rest stored", shown)
    assert 10 <= int(now[1]) <= 20 - stored, shown
    assert session.returncode == pytest.ExitCode.OK
