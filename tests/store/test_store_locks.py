"""Locks: one holder at a time, and nobody has to clean up after them."""

import os

import pytest

from repro.store import Store, StoreError
from repro.store.locks import Locks


@pytest.fixture
def locks(tmp_path):
    return Locks(tmp_path)


def test_one_holder_at_a_time(locks, tmp_path):
    lock = locks.try_lock("run")
    assert locks.try_lock("run") is None
    assert Locks(tmp_path).try_lock("run") is None
    assert locks.try_lock("another run") is not None
    lock.release()
    lock.release()
    with Locks(tmp_path).lock("run"):
        assert locks.try_lock("run") is None
    assert locks.try_lock("run") is not None


def test_a_released_lock_leaves_no_file_and_a_second_release_does_not_free_the_next(locks):
    with locks.lock("run"):
        assert [path.name for path in locks.folder.iterdir()] == ["run"]
    assert list(locks.folder.iterdir()) == []
    first = locks.lock("run")
    first.release()
    second = locks.lock("run")
    first.release()
    assert locks.try_lock("run") is None
    second.release()


def test_a_wait_that_is_too_long_says_who_is_waited_for(locks):
    sentence = rf"/locks/run has been held for 0.01 s by process {os.getpid()} on .*; end it"
    with locks.lock("run"), pytest.raises(StoreError, match=sentence):
        locks.lock("run", timeout=0.01)


def test_lock_files_of_killed_holders_alone_are_swept_when_a_store_is_opened(tmp_path):
    locks = Store(tmp_path).locks
    (locks.folder / "of a killed process").write_text("")
    with locks.lock("held"):
        Store(tmp_path)
        assert [path.name for path in locks.folder.iterdir()] == ["held"]
        assert locks.try_lock("held") is None


def test_a_removed_lock_file_does_not_count_as_held(locks, monkeypatch):
    first = locks.lock("run")
    really_open = os.open
    others = []

    def overtaken(path, *rest):
        descriptor = really_open(path, *rest)
        monkeypatch.undo()
        first.release()  # removes the file that was just opened
        others.append(locks.try_lock("run"))
        return descriptor

    monkeypatch.setattr(os, "open", overtaken)
    assert locks.try_lock("run") is None
    assert others[0] is not None
