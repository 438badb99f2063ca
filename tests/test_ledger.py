"""The file of a ledger: what is written is what is read, and the ledgers here stay as they are."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro.ledger import KINDS, VERDICTS, Entry, Ledger, LedgerError

ROOT = Path(__file__).parents[1]
LEDGERS = [
    path for folder in ("claims", "examples") for path in (ROOT / folder).rglob("ledger.toml")
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PAST = st.lists(st.tuples(NUMBER, st.none() | NUMBER.map(abs), st.integers(2, 1000)))
FIELDS = [*[TEXT] * 3, st.sampled_from(VERDICTS), *[TEXT] * 3, st.sampled_from(KINDS)]
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


def test_whose_a_claim_is_stands_in_its_entry_only_where_it_is_ours(tmp_path):
    path = tmp_path / "ledger.toml"
    ours = replace(entry("ours"), claim="900/seeds_differ", kind="control")
    Ledger(path, []).accept([entry("theirs"), ours])
    blocks = path.read_text().split("[[claim]]")[1:]
    assert [block.count("kind = ") for block in blocks] == [0, 1]
    path.write_text(path.read_text().replace('"control"', '"controll"'))
    with pytest.raises(LedgerError, match="its kind 'controll' is none of source, question"):
        Ledger.read(path)


def test_half_a_character_is_refused_and_the_file_stays(tmp_path):
    ledger = Ledger(tmp_path / "ledger.toml", [])
    ledger.accept([entry("before")])
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match=r"ud83d.*900/rises") as refused:
        ledger.accept([entry("half of a smile: \ud83d")])
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.toml"]
    assert ledger.path.read_bytes() == before


def test_the_opposite_of_a_verdict_is_looked_for_at_other_sizes_alone(tmp_path):
    small = entry("small")
    large = replace(small, profile="paper", verdict="refuted")
    ledger = Ledger(tmp_path / "ledger.toml", [small, large])
    assert ledger.opposed(small.claim, "ci", "reproduced") == [large]
    assert ledger.opposed(small.claim, "paper", "refuted") == [small]
    for claim, profile, verdict in (
        (small.claim, "paper", "reproduced"),
        (small.claim, "ci", "inconclusive"),
        ("900/other", "ci", "reproduced"),
    ):
        assert ledger.opposed(claim, profile, verdict) == []
