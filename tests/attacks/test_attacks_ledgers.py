"""Ledgers that merges, editors and hands have spoilt: each is sound, or refused in one line."""

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.ledger import VERDICTS, Entry, Ledger, LedgerError

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
    "a merge marker": f"<<<<<<< HEAD\n{FIELDS}".encode(),
    "a misspelt table": f"[[claims]]\n{FIELDS}".encode(),
    "an unknown verdict": FIELDS.replace("refuted", "Reproduced").encode(),
    "an unknown key": f'{FIELDS}colour = "red"\n'.encode(),
    "two entries of one claim": (FIELDS + FIELDS).encode(),
    "no text": b"\xff\xfe",
    "a format from the future": f"format = 9\n{FIELDS}".encode(),
    "a number for a text": FIELDS.replace('sentence = "it"', "sentence = 3").encode(),
}


def test_a_bad_ledger_is_refused_in_one_sentence():
    said = {kind: read(content) for kind, content in BAD.items()}
    for kind, (entries, refused) in said.items():
        assert entries == [], kind
        assert "ledger.toml cannot be read (" in refused, kind
        assert "restore it from version control" in refused, kind
        assert "\n" not in refused, kind
    assert read(FIELDS.encode())[1] == ""


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
