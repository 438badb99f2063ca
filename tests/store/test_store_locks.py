"""Locks have one holder, checkpoints are loaded whole or not at all, and what is old goes."""

import os
import time

import pytest

from repro.__main__ import main
from repro.store import DEFAULT_STORE, Made, Store, StoreError, run_key
from repro.store.checkpoints import Checkpoints
from repro.store.locks import Locks
from repro.store.upkeep import DAY, remove_old, tidy


@pytest.fixture
def locks(tmp_path):
    return Locks(tmp_path)


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
    for payload in (b"weights", b"", b"later"):
        checkpoints.save(KEY, payload)
        assert checkpoints.load(KEY) == payload
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


UNFINISHED = "5e1f" * 16
"""The key of a run that never ended."""


def identity(seed):
    return {"seed": seed, "arm": {"arm": "Line"}}


def put(store, seed, *, days, trace="c0de"):
    """Store a run that looks as old as that."""
    key = store.put(identity(seed), {"loss": 0.5}, {}, made=Made(trace=trace))
    return aged(store.root / "runs" / key[:2] / key, days)


def save(store, seed, *, days):
    key = run_key(identity(seed))
    store.checkpoints.save(key, b"weights")
    return aged(store.root / "checkpoints" / key[:2] / key, days)


def aged(path, days):
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


def damage(store, path):
    """Have a run found damaged now; where it was moved to."""
    (path / "result.json").write_text("{}")
    key = f"{path.parent.name}/{path.name}"
    assert store.at(key) is None
    return store.root / "damaged" / f"{key.replace('/', '-')}-1"


def test_old_checkpoints_and_damage_go_and_no_run_does(store):
    old, young = save(store, 1, days=31), save(store, 2, days=29)
    run = put(store, 3, days=1000)
    gone, kept = (damage(store, put(store, seed, days=1000)) for seed in (4, 5))
    aged(gone, 31)  # while `kept` is as old as its finding
    tidy(store)
    assert not any(path.exists() for path in (old, gone))
    assert all(path.exists() for path in (young, run, kept))


def test_the_folder_of_a_run_lasts_until_it_is_stored(store):
    key = run_key(identity(1))
    kept = store.folder(key) / "model.pt"
    kept.write_bytes(b"weights")
    other = store.folder(UNFINISHED) / "model.pt"
    other.write_bytes(b"weights")
    tidy(store)
    assert (store.folder(key) / "model.pt").read_bytes() == b"weights"
    put(store, 1, days=0)
    assert not kept.parent.exists()
    aged(other.parent, 31)
    with store.locks.lock(UNFINISHED):
        tidy(store)
    assert other.exists()
    tidy(store)
    assert not other.parent.exists()


def test_what_a_running_session_holds_stays(store):
    held, free = put(store, 1, days=9), put(store, 2, days=9)
    checkpoint = save(store, 1, days=9)
    with Store(store.root).locks.lock(run_key(identity(1))):
        assert [item.path for item in remove_old(store, "runs", days=8)[0]] == [free]
        assert remove_old(store, "checkpoints", days=8) == ([], 1)
    assert held.exists()
    assert checkpoint.exists()
    assert not free.exists()
    assert [list((store.root / name).iterdir()) for name in ("tmp", "locks")] == [[], []]


def test_a_checkpoint_that_is_saved_meanwhile_stays(store, monkeypatch):
    path = save(store, 1, days=9)
    take = Locks.try_lock

    def after_its_holder(locks, name):
        save(store, 1, days=0)
        return take(locks, name)

    monkeypatch.setattr(Locks, "try_lock", after_its_holder)
    assert remove_old(store, "checkpoints", days=8) == ([], 0)
    assert path.exists()


def test_the_command_shows_numbers_sizes_and_ages(store, capsys):
    run = put(store, 1, days=40.5, trace="0" * 64)
    (run.parent / ".DS_Store").write_text("a file manager's")
    (store.root / "runs" / "notes").write_text("a person's")
    (put(store, 2, days=3.5, trace="f" * 64) / "result.json").write_text("x" * 3_000_000)
    put(store, 3, days=2.2 / 24, trace="f" * 64)
    save(store, 4, days=1.5)
    aged(store.folder(UNFINISHED), 3.5)
    unreadable = put(store, 5, days=50.5)
    (unreadable / "identity.json").write_text("{")
    aged(unreadable, 50.5)
    assert main(["store", "--store", str(store.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for words, at in (
        ("runs 4, 3.0 MB, written 50 days to 2 hours ago", 1),
        ("folders 1, 0.0 MB, written 3 days to 3 days ago", 3),
        ("Line, code ffffffffffff: 2, written 3 days to 2 hours ago", 6),
        ("not readable: 1, written 50 days to 50 days ago", 8),
    ):
        assert " ".join(lines[at].split()) == words
    assert unreadable.exists()


def test_the_command_prunes_what_it_is_told_and_nothing_else(store, capsys, monkeypatch):
    old, young = put(store, 1, days=9), put(store, 2, days=7)
    checkpoint = save(store, 3, days=9)
    folder = aged(store.folder(UNFINISHED), 9)
    aside = aged(damage(store, put(store, 4, days=0)), 9)
    monkeypatch.setenv("REPRO_STORE", str(store.root))
    pruning = ["store", "prune", "--older-than", "8"]
    assert main([*pruning, "--damaged", "--checkpoints"]) == 0
    assert not checkpoint.exists()
    assert not folder.exists()
    assert not aside.exists()
    assert old.exists()
    assert main([*pruning, "--store", str(store.root)]) == 0
    assert not old.exists()
    assert young.exists()
    assert capsys.readouterr().out.count("older than 8 days: 1 removed") == 4
    assert main(["store", "prune", "--older-than", "0"]) == 0
    assert not young.exists()


def test_the_command_makes_no_store(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REPRO_STORE", raising=False)
    assert main(["store"]) == 0
    assert main(["store", "prune", "--older-than", "1"]) == 0
    line = f"There is no store in {tmp_path / DEFAULT_STORE} yet.\n"
    assert capsys.readouterr().out == 2 * line
    assert list(tmp_path.iterdir()) == []


def test_the_command_finds_the_store_of_the_project_from_a_folder_below(
    tmp_path, capsys, monkeypatch
):
    put(Store(tmp_path / DEFAULT_STORE), 1, days=1)
    (tmp_path / "claims").mkdir()
    monkeypatch.chdir(tmp_path / "claims")
    monkeypatch.delenv("REPRO_STORE", raising=False)
    assert main(["store"]) == 0
    assert "runs 1" in " ".join(capsys.readouterr().out.split())


def test_an_age_that_is_none_is_refused(capsys):
    assert main(["store", "prune"]) == 1
    assert "give --older-than or --old-code" in capsys.readouterr().err
    for days in ("-1", "nan", "soon", "inf"):
        with pytest.raises(SystemExit):
            main(["store", "prune", f"--older-than={days}"])
        assert "argument --older-than: invalid" in capsys.readouterr().err
