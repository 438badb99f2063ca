"""Files on the disk: ledgers that were spoilt, and a store whose writers are killed at any call."""

import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from repro.ledger import VERDICTS, Entry, Ledger, LedgerError, entries_at, read_ledgers
from repro.store import Store, run_key

SOUND = Entry("900/rises", "ci", "points", "reproduced", "it rises", "0.4", "0.5", machine="cpu")
OTHER = Entry("900/falls", "ci", "points", "refuted", "it falls", "", "0.1")
PIECES = [
    *("<<<<<<< HEAD\n", "=======\n", ">>>>>>> theirs\n"),
    *("[[claim]]\n", "[claim]\n", "[[claims]]\n", "format = 2\n"),
    *('verdict = "Reproduced"\n', "verdict = 1\n", 'data = "points"\n', 'colour = "red"\n'),
    *("past = [[1.0, 2.0, 3]]\n", "past = [[nan, 0, 3]]\n", "past = [1]\n"),
    *("past = [[0, -1, 2]]\n", "past = 1e999\n", "past = [[1.0, 1]]\n", "past = [[1, 2]]\n"),
    *("\x00", "\x7f", "\ufeff", '"', "'''", "#", "\r"),
]


def written():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.toml")
        Ledger(path, []).accept([SOUND, OTHER])
        return path.read_text(encoding="utf-8")


WHOLE = written()
PLACES = st.integers(0, len(WHOLE))


@st.composite
def spoilt(draw):
    """A ledger in which some stretches are cut out, doubled, or replaced."""
    text = WHOLE
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted((draw(PLACES), draw(PLACES)))
        middle = draw(st.sampled_from([*PIECES, "", text[start:end] * 2]) | st.text(max_size=8))
        text = text[:start] + middle + text[end:]
    return text.encode("utf-8", "surrogatepass")


def read(content):
    """Return the entries of a file with this content, or the sentence that refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.toml")
        path.write_bytes(content)
        try:
            return list(Ledger.read(path).entries.values()), ""
        except LedgerError as error:
            return [], str(error)


FIELDS = """
[[claim]]
claim = "900/sound"
profile = "ci"
data = "points"
verdict = "refuted"
sentence = "it"
documented = ""
measured = ""
"""
BAD = {
    "an unknown key": f'{FIELDS}colour = "red"\n'.encode(),
    "no text": b"\xff\xfe",
    "a format from the future": f"format = 9\n{FIELDS}".encode(),
    "brackets within brackets": f"past = {'[' * 5000}{']' * 5000}\n{FIELDS}".encode(),
    "a number that no float holds": f"{FIELDS}past = [[1{'0' * 400}, 2]]\n".encode(),
    "half a megabyte for a word": FIELDS.replace('"it"', f"[{'1,' * 250_000}]").encode(),
    "a mark of byte order": b"\xef\xbb\xbf" + FIELDS.encode(),
    "a number for a text": FIELDS.replace('sentence = "it"', "sentence = 3").encode(),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_ledger_is_refused_in_one_sentence(kind):
    entries, refused = read(BAD[kind])
    assert entries == []
    assert re.fullmatch(r"[^\n]*ledger.toml cannot be read \([^\n]*", refused)
    assert "restore it from version control" in refused
    assert len(refused) < 3000


def test_the_ledger_that_the_bad_ones_were_made_of_is_sound():
    assert read(FIELDS.encode())[1] == ""


NO_LEDGERS = {
    "a pipe": os.mkfifo,
    "an endless device": lambda path: path.symlink_to("/dev/zero"),
    "many megabytes of holes": lambda path: path.touch() or os.truncate(path, 2**40),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", NO_LEDGERS)
def test_what_is_no_ledger_is_neither_waited_for_nor_read_to_its_end(tmp_path, kind):
    path = tmp_path / "ledger" / "test_a.toml"
    path.parent.mkdir()
    NO_LEDGERS[kind](path)
    for read, where in ((Ledger.read, path), (read_ledgers, tmp_path), (entries_at, path)):
        with pytest.raises(LedgerError, match=r"^[^\n]*test_a.toml[^\n]*$"):
            read(where)


@pytest.mark.thorough
@settings(max_examples=300)  # the spoilt are many, and reading one is fast
@given(spoilt() | st.binary(max_size=300))
def test_a_spoilt_ledger_is_sound_or_refused(content):
    entries, refused = read(content)
    assert not refused or "ledger.toml cannot be read (" in refused
    for entry in entries:
        assert entry.verdict in VERDICTS
        numbers = [number for each in entry.past for number in each if number is not None]
        assert all(map(math.isfinite, numbers))


CLAIMS = """
from repro import claim

@claim("it climbs", source="901, Text")
def test_before(document):
    assert document(["1", "2"]).climbs()

@claim("it climbs further", source="901, Text")
def test_behind(document):
    assert document(["2", "3"]).climbs()
"""

SLOW = """
import time
from repro.plugin import summary

whole = summary.write_ledgers

def write_ledgers(ledgers):
    time.sleep(2)  # longer than the two sessions begin apart
    whole(ledgers)

summary.write_ledgers = write_ledgers
"""


@pytest.mark.thorough
def test_two_sessions_that_accept_at_once_lose_no_entry(project):
    project.makepyfile(test_lines=CLAIMS, conftest=SLOW)
    start = [sys.executable, "-m", "pytest", "--update-ledger", "-k"]
    sessions = [
        subprocess.Popen([*start, name], stdout=subprocess.DEVNULL) for name in ("before", "behind")
    ]
    assert [session.wait(timeout=60) for session in sessions] == [0, 0]
    [path] = (project.path / "ledger").iterdir()
    entries = Ledger.read(path).entries.values()
    assert {entry.claim for entry in entries} == {"901/before", "901/behind"}


CALLS = ("open", "mkdir", "rename", "replace", "unlink", "fsync", "rmdir")


def killed_at(call, work):
    """Let a child do this work, and kill it before its n-th call; return whether it was."""
    child = os.fork()
    if child == 0:
        left = [call]

        def counted(function):
            def called(*given, **named):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*given, **named)

            return called

        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


SEEDS, KILLED_AT = st.integers(0, 9), st.integers(0, 27)


class KilledStore(RuleBasedStateMachine):
    """What was put and came back is there for ever; what was killed is whole or not there."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="killed-store-")
        self.stored, self.tried, self.reports = set(), set(), []
        self.open_it_again()

    def teardown(self):
        shutil.rmtree(self.folder)

    def opened(self):
        return Store(self.folder, report=self.reports.append)

    @rule()
    def open_it_again(self):
        self.store = self.opened()

    @rule(seed=SEEDS)
    def put(self, seed):
        self.store.put({"seed": seed}, {"value": seed}, {})
        self.stored.add(seed)

    @rule(seed=SEEDS, call=KILLED_AT)
    def put_and_be_killed(self, seed, call):
        was_killed = killed_at(
            call, lambda: self.opened().put({"seed": seed}, {"value": seed}, {}, weights=b"w" * 9)
        )
        (self.tried if was_killed else self.stored).add(seed)

    @rule(seed=SEEDS, call=KILLED_AT)
    def hold_a_lock_and_be_killed(self, seed, call):
        killed_at(call, lambda: self.opened().locks.try_lock(f"run-{seed}").release())
        with self.store.locks.lock(f"run-{seed}", timeout=1):
            pass

    @rule(seed=SEEDS, call=KILLED_AT)
    def save_a_checkpoint_and_be_killed(self, seed, call):
        key = run_key({"seed": seed})
        self.store.checkpoints.save(key, b"first")
        killed_at(call, lambda: self.opened().checkpoints.save(key, b"second"))
        assert self.store.checkpoints.load(key) in (b"first", b"second")

    @invariant()
    def what_came_back_is_there_and_nothing_else(self):
        found = {seed: self.store.get({"seed": seed}) for seed in range(10)}
        there = {seed for seed, result in found.items() if result is not None}
        assert self.stored <= there <= self.stored | self.tried
        assert all(found[seed].values == {"value": seed} for seed in there)
        assert self.reports == []


TestKilledStore = pytest.mark.thorough(KilledStore.TestCase)
TestKilledStore = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")(TestKilledStore)
TestKilledStore.settings = settings(max_examples=30, stateful_step_count=20)
