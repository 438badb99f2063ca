"""The file of a ledger: what is written is what is read, and the ledgers here stay as they are."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro.ledger import KINDS, VERDICTS, Entry, Ledger, LedgerError, write_ledgers
from repro.ledger.text import text_of

ROOT = Path(__file__).parents[2]
LEDGERS = [
    path
    for folder in ("claims", "examples")
    for path in sorted((ROOT / folder).rglob("*.toml"))
    if path.parent.name == "ledger"
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
@example([entry("a line in a name"), replace(entry("a"), claim="900/x\ny = 1", data="\x7f]]")])
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


def test_the_ledgers_of_this_project_are_split_by_files_of_claims():
    """Each file of claims has its ledger."""
    claims = {p.relative_to(ROOT).as_posix() for p in LEDGERS}
    files = [file for x in ("claims", "examples") for file in (ROOT / x).rglob("test_*.py")]
    assert claims == {
        f"{file.parent.relative_to(ROOT).as_posix()}/ledger/{file.stem}.toml" for file in files
    }


@given(ENTRIES)
def test_each_entry_begins_with_a_line_that_no_other_has(entries):
    """Git finds entries by these lines, so that it never takes one for its neighbour."""
    lines = text_of(entries).split(b"\n")
    heads = [line for line in lines if line.startswith(b"[[claim]]")]
    assert len(heads) == len(entries)
    spaced = [" ".join(each.place) for each in entries]
    assert len(set(heads)) == len(set(spaced))


@given(ENTRIES.flatmap(lambda entries: st.tuples(st.just(entries), st.permutations(entries))))
def test_entries_are_written_in_one_order_however_they_come(both):
    assert text_of(both[0]) == text_of(both[1])


def test_a_file_that_does_not_change_is_not_written(tmp_path):
    path = tmp_path / "ledger.toml"
    Ledger(path, []).accept([entry("one")])
    os.utime(path, (1, 1))
    Ledger.read(path).accept([entry("one")])
    assert path.stat().st_mtime == 1
    Ledger.read(path).accept([entry("two")])
    assert path.stat().st_mtime > 1


def test_of_several_ledgers_none_is_written_where_one_cannot_be(tmp_path):
    good, bad = (Ledger(tmp_path / name, []) for name in ("a.toml", "b.toml"))
    good.add([entry("whole")])
    bad.add([entry("half of a smile: \ud83d")])
    with pytest.raises(LedgerError):
        write_ledgers([good, bad])
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_cannot_be_written_is_one_sentence(tmp_path):
    ledger = Ledger(tmp_path / "gone" / "ledger" / "test_a.toml", [])
    with pytest.raises(LedgerError, match=r"test_a\.toml cannot be written \(No such file") as said:
        ledger.accept([entry("one")])
    assert "\n" not in str(said.value)


def test_the_ledger_of_one_file_goes_with_its_last_entry(tmp_path):
    path = tmp_path / "ledger" / "test_a.toml"
    Ledger(path, []).accept([entry("one")])
    assert path.exists()
    Ledger.read(path).forget(["900/rises"])
    assert not path.exists()
