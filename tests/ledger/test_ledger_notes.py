"""What one process read of a ledger, another one takes from its note."""

import pytest

from repro.ledger import Entry, Ledger, leave_note

ENTRY = Entry(
    claim="900/steeper",
    profile="ci",
    data="none",
    verdict="reproduced",
    sentence="steeper targets give steeper lines",
    documented="",
    measured="a - b = 1 [0.5, 1.5], 5 seeds",
    past=[(1.0, 0.25, 5), (0.5, None, 8)],
)


@pytest.fixture
def path(tmp_path):
    Ledger(tmp_path / "ledger.toml", []).accept([ENTRY])
    return tmp_path / "ledger.toml"


def test_a_note_says_what_the_ledger_says(tmp_path, path, monkeypatch):
    leave_note(tmp_path, path)
    monkeypatch.setattr("repro.ledger.file.entries_in", None)  # the text is not read
    assert list(Ledger.read(path, notes=tmp_path).entries.values()) == [ENTRY]


def test_a_note_is_about_one_text_only(tmp_path, path):
    leave_note(tmp_path, path)
    path.write_text(path.read_text().replace('"reproduced"', '"refuted"'))
    (entry,) = Ledger.read(path, notes=tmp_path).entries.values()
    assert entry.verdict == "refuted"


def test_without_a_sound_note_the_text_is_read(tmp_path, path):
    assert list(Ledger.read(path, notes=tmp_path).entries.values()) == [ENTRY]
    leave_note(tmp_path, path)
    (note,) = tmp_path.glob("*.ledger")
    for damaged in ("", "{}", '[{"claim": 1}]', "null"):
        note.write_text(damaged)
        assert list(Ledger.read(path, notes=tmp_path).entries.values()) == [ENTRY]


def test_of_a_ledger_that_is_none_there_is_no_note(tmp_path):
    (tmp_path / "ledger.toml").write_text("<<<<<<< HEAD")
    leave_note(tmp_path, tmp_path / "ledger.toml")
    leave_note(tmp_path, tmp_path / "another.toml")
    leave_note(tmp_path / "no folder", tmp_path / "ledger.toml")
    assert not list(tmp_path.glob("*.ledger"))
