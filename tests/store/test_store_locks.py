"""Locks have one holder at a time; checkpoints are loaded whole or not at all."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.store import Store, StoreError
from repro.store.checkpoints import Checkpoints
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


KEY, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def checkpoints(tmp_path, reports):
    return Checkpoints(tmp_path, report=reports.append)


@given(payload=st.binary(), later=st.binary())
def test_the_last_payload_is_loaded(tmp_path_factory, payload, later):
    checkpoints = Checkpoints(tmp_path_factory.getbasetemp() / "any bytes", report=pytest.fail)
    checkpoints.save(KEY, payload)
    assert checkpoints.load(KEY) == payload
    checkpoints.save(KEY, later)
    assert checkpoints.load(KEY) == later


def test_a_dropped_run_is_forgotten(checkpoints, reports):
    assert checkpoints.load(KEY) is None
    checkpoints.drop(KEY)
    checkpoints.save(KEY, b"one")
    checkpoints.save(OTHER, b"other")
    checkpoints.drop(KEY)
    assert checkpoints.load(KEY) is None
    assert checkpoints.load(OTHER) == b"other"
    assert reports == []


def test_any_damage_is_reported_and_never_loaded(checkpoints, reports, tmp_path):
    checkpoints.save(KEY, b"weights")
    path = tmp_path / "checkpoints" / KEY[:2] / KEY
    whole = path.read_bytes()
    flipped = [
        whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :]
        for at in range(len(whole))
        for mask in (0x01, 0xFF)
    ]
    broken = [*flipped, *(whole[:length] for length in range(len(whole))), whole + b"\0"]
    for content in broken:
        path.write_bytes(content)
        assert checkpoints.load(KEY) is None
        (line,) = reports
        assert "\n" not in line
        assert str(path) in line
        reports.clear()
    checkpoints.save(KEY, b"weights")
    assert checkpoints.load(KEY) == b"weights"
    assert reports == []


def test_one_run_does_not_go_on_from_another(checkpoints, tmp_path):
    checkpoints.save(KEY, b"weights")
    folder = tmp_path / "checkpoints"
    (folder / OTHER[:2]).mkdir()
    (folder / KEY[:2] / KEY).rename(folder / OTHER[:2] / OTHER)
    assert checkpoints.load(OTHER) is None


def test_a_save_that_fails_keeps_the_last_one(checkpoints, monkeypatch, tmp_path):
    checkpoints.save(KEY, b"good")
    monkeypatch.setattr("repro.store.checkpoints._digest", lambda key, payload: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        checkpoints.save(KEY, b"half")
    monkeypatch.undo()
    assert checkpoints.load(KEY) == b"good"
    assert list((tmp_path / "tmp").iterdir()) == []
