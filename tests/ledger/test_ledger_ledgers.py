"""Ledgers: what is written is what is read, and there is one for each file of claims."""

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro.ledger import (
    KINDS,
    VERDICTS,
    Entry,
    Ledger,
    LedgerError,
    Ledgers,
    entries_at,
    folders_with_ledgers,
    ledgers_in,
    read_ledgers,
    write_ledgers,
)
from repro.ledger.entry import text_of
from repro.store import Store

ROOT = Path(__file__).parents[2]
LEDGERS = [
    path
    for folder in ("claims", "examples")
    for path in sorted((ROOT / folder).rglob("*.toml"))
    if path.parent.name == "ledger"
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PAST = st.lists(st.tuples(NUMBER, NUMBER.map(abs), st.integers(2, 1000)), max_size=3)
FIELDS = [*[TEXT] * 3, st.sampled_from(VERDICTS), *[TEXT] * 3, st.sampled_from(KINDS)]
ENTRIES = st.lists(
    st.builds(
        Entry, *FIELDS, machine=TEXT, past=PAST, one_look=st.lists(st.integers(1), max_size=2)
    ),
    unique_by=lambda entry: entry.place,
    max_size=4,
)
HALF_A_CHARACTER = "half of a smile: \ud83d"


def entry(sentence, **more):
    return replace(Entry("900/rises", "ci", "points", "reproduced", sentence, "", ""), **more)


def as_text(entry):
    lists = {"past": [list(each) for each in entry.past], "one_look": list(entry.one_look)}
    return repr({**vars(entry), **lists})


@given(ENTRIES, st.randoms())
@example(
    [
        entry("a line in a name"),
        entry("a", claim="900/x\ny = 1", data="\x7f]]"),
        entry("all of ASCII: " + "".join(map(chr, range(128))), data="all"),
        entry("and \x85\u2028\ufeff\r", data="more", past=[(1.0, 0.5, 20), (0.5, 0.1, 8)]),
    ],
    None,
)
def test_what_is_written_is_what_is_read_in_one_order_however_it_comes(entries, random):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.toml"
        Ledger(path, []).accept(entries)
        read = Ledger.read(path).entries
        assert path.exists() == bool(entries)  # one without entries goes
    lines = text_of(entries).split(b"\n")
    assert {place: as_text(each) for place, each in read.items()} == {
        each.place: as_text(each) for each in entries
    }
    assert list(read) == sorted(read)
    if random is not None:
        shuffled = random.sample(entries, len(entries))
        assert text_of(shuffled) == text_of(entries)
    # Git finds entries by these lines, so that it never takes one for its neighbour.
    heads = [line for line in lines if line.startswith(b"[[claim]]")]
    assert len(heads) == len(entries)
    assert len(set(heads)) == len({" ".join(each.place) for each in entries})


def test_the_ledgers_of_this_project_are_written_as_they_are():
    changed = [
        str(path.relative_to(ROOT))
        for path in LEDGERS
        if text_of(Ledger.read(path).entries.values()) != path.read_bytes()
    ]
    assert changed == []


def test_what_no_ledger_can_say_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "ledger.toml"
    ours = entry(
        "ours",
        claim="900/seeds_differ",
        kind="control",
        past=[(1.0, 0.5, 20)],
        one_look=[7],
        over_stored=[1.5, 30],
    )
    Ledger(path, []).accept([entry("theirs"), ours])
    text = path.read_text()
    first, *blocks = text.split("[[claim]]")
    assert [block.count("kind = ") for block in blocks] == [0, 1]  # only where it is ours
    for old, new, words in (
        ('"control"', '"controll"', "its kind 'controll' is none of source, repository, q"),
        ('"reproduced"', '"Reproduced"', "its verdict 'Reproduced' is none of reproduced"),
        ("[[1.0, 0.5, 20]]", "[[1.0, -0.5, 20]]", r"its past is no list of \[mean"),
        ("[[1.0, 0.5, 20]]", "[[1.0, 1]]", r"its past is no list of \[mean"),
        ("[[1.0, 0.5, 20]]", "[[nan, 0.5, 20]]", r"its past is no list of \[mean"),
        ("[7]", "[-7]", "its one_look is no list of numbers of seeds"),
        ("[7]", '"7"', "its one_look is no list of numbers of seeds"),
        ("[1.5, 30]", "[1.5, 0.5]", r"its over_stored is no \[estimate, seeds\]"),
        ("[1.5, 30]", "[30]", r"its over_stored is no \[estimate, seeds\]"),
        ("[[claim]]", "[[claims]]", "it has 'claims' where only"),
        (blocks[1], blocks[0], "has two entries at ci on points"),
        (first, "<<<<<<< HEAD\n", "restore it from version control"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(LedgerError, match=words) as said:
            Ledger.read(path)
        assert "\n" not in str(said.value)


def test_the_opposite_of_a_verdict_is_looked_for_at_other_sizes_alone(tmp_path):
    small = entry("small")
    large = entry("large", profile="paper", verdict="refuted")
    ledger = Ledger(tmp_path / "ledger.toml", [small, large])
    for claim, profile, verdict, opposed in (
        (small.claim, "ci", "reproduced", [large]),
        (small.claim, "paper", "refuted", [small]),
        (small.claim, "paper", "reproduced", []),
        (small.claim, "ci", "inconclusive", []),
        ("900/other", "ci", "reproduced", []),
    ):
        assert ledger.opposed(claim, profile, verdict) == opposed, (claim, profile, verdict)


def test_a_file_is_written_only_if_it_changes_and_goes_with_its_last_entry(tmp_path):
    path = tmp_path / "ledger" / "test_a.toml"
    Ledger(path, []).accept([entry("one")])
    os.utime(path, (1, 1))
    Ledger.read(path).accept([entry("one")])
    assert path.stat().st_mtime == 1
    Ledger.read(path).accept([entry("two")])
    assert path.stat().st_mtime > 1
    Ledger.read(path).forget(["900/rises"])
    assert not path.exists()


def test_a_ledger_that_cannot_be_written_is_one_sentence_and_stays(tmp_path):
    whole, gone = (
        Ledger(tmp_path / "b.toml", []),
        Ledger(tmp_path / "no folder" / "ledger" / "test_a.toml", []),
    )
    whole.accept([entry("before")])
    before = whole.path.read_bytes()
    with pytest.raises(LedgerError, match=r"ud83d.*900/rises") as refused:
        whole.accept([entry(HALF_A_CHARACTER)])
    assert "\n" not in str(refused.value)
    good = Ledger(tmp_path / "a.toml", [entry("whole")])
    with pytest.raises(LedgerError):
        write_ledgers([good, whole])  # none of them, where one cannot be
    assert [path.name for path in tmp_path.iterdir()] == ["b.toml"]
    assert whole.path.read_bytes() == before
    with pytest.raises(LedgerError, match=r"test_a\.toml cannot be written \(No such file") as said:
        gone.accept([entry("one")])
    assert "\n" not in str(said.value)


def write(path, *claims):
    path.parent.mkdir(parents=True, exist_ok=True)
    Ledger(path, []).accept([entry("It rises", claim=claim) for claim in claims])


def test_each_file_of_claims_has_a_ledger_and_one_for_all_is_refused(tmp_path):
    assert ledgers_in(tmp_path) == []
    file, own, of_all = (tmp_path / x for x in ("test_a.py", "ledger/test_a.toml", "ledger.toml"))
    write(own, "900/c")
    assert [each.path for each in read_ledgers(file)] == [Ledgers().of(file).path] == [own]
    write(of_all, "900/a", "900/b")
    assert list(folders_with_ledgers(tmp_path)) == [tmp_path]
    with pytest.raises(LedgerError, match=r"/ledger\.toml has entries, and is not read: move them"):
        read_ledgers(file)


def test_a_package_is_no_ledger_nor_what_editors_and_merges_leave(tmp_path):
    folder = tmp_path / "ledger"
    write(folder / "test_a.toml", "900/a")
    for name in ("test_a.toml.orig", ".#test_b.toml", "README.md"):
        (folder / name).write_text("<<<<<<<")
    assert ledgers_in(tmp_path) == [folder / "test_a.toml"]
    package = tmp_path / "other" / "ledger"
    package.mkdir(parents=True)
    for name in ("__init__.py", "settings.toml"):
        (package / name).touch()
    assert ledgers_in(package.parent) == []
    with pytest.raises(LedgerError, match="has modules of Python, so no ledger can be there"):
        write(package / "test_a.toml", "900/a")


def test_folders_that_pytest_does_not_walk_and_stored_runs_have_no_ledgers(tmp_path):
    store = Store(tmp_path / "claims")  # a project may be a store as well
    store.put({"seed": 1}, {"measures": {}}, {})
    (run,) = (tmp_path / "claims" / "runs").glob("*/*")
    read = [tmp_path / name for name in ("claims", "claims/more", "other/runs")]
    unread = [tmp_path / name for name in (".venv", "venv", "claims/store")]
    for folder in (*read, *unread, run):
        write(folder / "ledger" / "test_a.toml", "900/a")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    found = folders_with_ledgers(tmp_path, but=tmp_path / "claims" / "store")
    assert list(found) == read


def test_a_ledger_is_read_only_for_the_files_that_ask(tmp_path):
    write(tmp_path / "ledger" / "test_a.toml", "900/a")
    (tmp_path / "ledger" / "test_b.toml").write_text("<<<<<<<")
    assert [ledger.path.name for ledger in read_ledgers(tmp_path / "test_a.py")] == ["test_a.toml"]
    assert read_ledgers(tmp_path / "test_c.py") == []
    ledgers = Ledgers()
    ledgers.require_in_place("900/a", tmp_path / "test_a.py")
    assert ledgers.of(tmp_path / "test_a.py").of_claim("900/a")
    with pytest.raises(LedgerError, match=r"test_b\.toml cannot be read"):
        ledgers.of(tmp_path / "test_b.py")
    with pytest.raises(LedgerError, match=r"test_b\.toml cannot be read"):
        read_ledgers(tmp_path)


def test_an_entry_in_the_ledger_of_another_file_or_in_two_is_named_with_both(tmp_path):
    write(tmp_path / "ledger" / "test_a.toml", "900/a", "900/b")
    Ledgers().require_in_place("900/new", tmp_path / "test_b.py")
    with pytest.raises(LedgerError) as said:
        Ledgers().require_in_place("900/b", tmp_path / "test_b.py")
    assert str(said.value) == (
        f"The ledger {tmp_path}/ledger/test_a.toml has 900/b, whose claim is in test_b.py: move"
        " it into test_b.toml; where test_b.py was renamed, rename the ledger too."
    )
    write(tmp_path / "ledger" / "test_b.toml", "900/b")
    twice = re.escape(f"The ledgers {tmp_path}/ledger/test_a.toml and")
    with pytest.raises(LedgerError, match=rf"{twice} .*test_b.toml both have 900/b: remove it"):
        read_ledgers(tmp_path)


def test_entries_are_those_of_a_file_or_of_a_folder_of_ledgers(tmp_path):
    with pytest.raises(LedgerError, match="There is no ledger"):
        entries_at(tmp_path / "ledger")
    write(tmp_path / "ledger" / "test_a.toml", "900/a")
    write(tmp_path / "ledger" / "test_b.toml", "900/b")
    assert [each.claim for each in entries_at(tmp_path / "ledger")] == ["900/a", "900/b"]
    assert [each.claim for each in entries_at(tmp_path / "ledger" / "test_b.toml")] == ["900/b"]
    with pytest.raises(LedgerError, match="There is no ledger"):
        entries_at(tmp_path)
    copy = (tmp_path / "ledger").rename(tmp_path / "former")
    assert [each.claim for each in entries_at(copy)] == ["900/a", "900/b"]
