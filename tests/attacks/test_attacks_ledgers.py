"""Ledgers that merges, editors and hands have spoilt: each is sound, or refused in one line."""

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.ledger import VERDICTS, Entry, Ledger, LedgerError, entries_at, read_ledgers

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


def test_a_bad_ledger_is_refused_in_one_sentence():
    said = {kind: read(content) for kind, content in BAD.items()}
    for kind, (entries, refused) in said.items():
        assert entries == [], kind
        assert "ledger.toml cannot be read (" in refused, kind
        assert "restore it from version control" in refused, kind
        assert "\n" not in refused, kind
        assert len(refused) < 3000, kind
    assert read(FIELDS.encode())[1] == ""


def place_of(kind, path):
    """Put something in a ledger's place that is no file, or no file that anybody would write."""
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "an endless device":
        path.symlink_to("/dev/zero")
    elif kind == "a file of many megabytes":
        with path.open("wb") as file:
            file.truncate(2**40)  # of holes
    else:
        path.mkdir()


@pytest.mark.parametrize(
    "kind", ["a pipe", "an endless device", "a file of many megabytes", "a folder"]
)
def test_what_is_no_ledger_is_neither_waited_for_nor_read_to_its_end(tmp_path, kind):
    path = tmp_path / "ledger" / "test_a.toml"
    path.parent.mkdir()
    place_of(kind, path)
    for reads in (
        lambda: Ledger.read(path),
        lambda: read_ledgers(tmp_path),
        lambda: entries_at(path),
    ):
        with pytest.raises(LedgerError, match=r"^[^\n]*test_a.toml[^\n]*$"):
            reads()


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
