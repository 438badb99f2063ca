"""The places of ledgers: one for each file of claims."""

import re

import pytest

from repro.ledger import (
    Entry,
    Ledger,
    LedgerError,
    Ledgers,
    entries_at,
    read_ledgers,
)
from repro.ledger.ledgers import folders_with_ledgers, ledgers_in
from repro.store import Store


def entry(claim, **more):
    return Entry(claim, "ci", "points", "reproduced", "It rises", "", "", **more)


def write(path, *claims):
    path.parent.mkdir(parents=True, exist_ok=True)
    Ledger(path, []).accept(map(entry, claims))


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
