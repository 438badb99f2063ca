"""The places of ledgers: one for each file of claims, and an older one for all of a folder."""

import re

import pytest

from repro.ledger import (
    Entry,
    Ledger,
    LedgerError,
    Ledgers,
    entries_at,
    leave_one_file,
    read_ledgers,
)
from repro.ledger.file import folders_with_ledgers, ledger_of, ledgers_in
from repro.store import Store


def entry(claim, **more):
    return Entry(claim, "ci", "points", "reproduced", "It rises", "", "", **more)


def write(path, *claims):
    path.parent.mkdir(parents=True, exist_ok=True)
    Ledger(path, []).accept(map(entry, claims))


def test_each_file_of_claims_has_a_ledger_and_an_older_one_is_read_too(tmp_path):
    assert ledgers_in(tmp_path) == []
    file, own, older = (tmp_path / x for x in ("test_a.py", "ledger/test_a.toml", "ledger.toml"))
    assert ledger_of(file) == own
    write(older, "900/a", "900/b")
    write(own, "900/c")
    assert ledgers_in(tmp_path) == [older, own]
    ledger = Ledgers().of(file)
    assert ledger.path == own
    assert sorted(entry.claim for entry in ledger.entries.values()) == ["900/a", "900/b", "900/c"]
    assert [each.path for each in read_ledgers(file)] == [older, own]


def test_the_entries_of_known_claims_leave_an_older_ledger(tmp_path):
    older, own = tmp_path / "ledger.toml", tmp_path / "ledger" / "test_a.toml"
    write(older, "900/a", "900/b")
    write(own, "900/c")
    leave_one_file(tmp_path, {"900/a": tmp_path / "test_a.py"})
    assert [each.claim for each in entries_at(own)] == ["900/a", "900/c"]
    assert [each.claim for each in entries_at(older)] == ["900/b"]
    leave_one_file(tmp_path, {"900/b": tmp_path / "test_b.py"})
    assert not older.exists()
    assert [each.claim for each in entries_at(own.parent)] == ["900/a", "900/c", "900/b"]


def test_a_package_is_no_ledger_nor_what_editors_and_merges_leave(tmp_path):
    folder = tmp_path / "ledger"
    write(folder / "test_a.toml", "900/a")
    for name in ("test_a.toml.orig", ".#test_b.toml", "README.md"):
        (folder / name).write_text("<<<<<<<")
    assert ledgers_in(tmp_path) == [folder / "test_a.toml"]
    older, package = tmp_path / "older" / "ledger.toml", tmp_path / "older" / "ledger"
    write(older, "900/a")
    package.mkdir()
    for name in ("__init__.py", "settings.toml"):
        (package / name).touch()
    assert ledgers_in(older.parent) == [older]
    with pytest.raises(LedgerError, match="has modules of Python, so no ledger can be there"):
        write(package / "test_a.toml", "900/a")


def test_folders_that_pytest_does_not_walk_and_stored_runs_have_no_ledgers(tmp_path):
    store = Store(tmp_path / "claims")  # a project may be a store as well
    store.put({"seed": 1}, {"measures": {}}, {})
    (run,) = (tmp_path / "claims" / "runs").glob("*/*")
    read = [tmp_path / name for name in ("claims", "claims/more", "other/runs")]
    unread = [tmp_path / name for name in (".venv", "venv", "claims/store")]
    for folder in (*read, *unread, run):
        write(folder / "ledger.toml", "900/a")
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
