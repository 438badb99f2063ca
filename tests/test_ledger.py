"""The file of a ledger: what is written is what is read, and the ledgers here stay as they are."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro.ledger import VERDICTS, Entry, Ledger, LedgerError

ROOT = Path(__file__).parents[1]
LEDGERS = [
    path for folder in ("claims", "examples") for path in (ROOT / folder).rglob("ledger.toml")
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PAST = st.lists(st.tuples(NUMBER, NUMBER.map(abs), st.integers(1, 1000)))
FIELDS = [*[TEXT] * 3, st.sampled_from(VERDICTS), *[TEXT] * 3]
ENTRIES = st.lists(
    st.builds(Entry, *FIELDS, machine=TEXT, past=PAST), unique_by=lambda entry: entry.place
)


def entry(sentence):
    return Entry("900/rises", "ci", "points", "reproduced", sentence, "", "")


def as_text(entry):
    return repr({**vars(entry), "past": [list(each) for each in entry.past]})


@given(ENTRIES)
@example([entry("all of ASCII: " + "".join(map(chr, range(128)))), entry("and \x85\u2028\ufeff\r")])
def test_what_is_written_is_what_is_read(entries):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.toml"
        Ledger(path, []).accept(entries)
        read = Ledger.read(path).entries
    assert {place: as_text(each) for place, each in read.items()} == {
        each.place: as_text(each) for each in entries
    }


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_ledgers_of_this_project_are_written_as_they_are(path, tmp_path):
    ledger = Ledger(tmp_path / "ledger.toml", [])
    ledger.accept(Ledger.read(path).entries.values())
    assert ledger.path.read_bytes() == path.read_bytes()


def test_half_a_character_is_refused_and_the_file_stays(tmp_path):
    ledger = Ledger(tmp_path / "ledger.toml", [])
    ledger.accept([entry("before")])
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match=r"ud83d.*900/rises") as refused:
        ledger.accept([entry("half of a smile: \ud83d")])
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.toml"]
    assert ledger.path.read_bytes() == before
