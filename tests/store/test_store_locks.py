from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repro.store import Store, StoreError
from repro.store.locks import Locks

Start = Callable[..., subprocess.Popen[str]]
Fork = Callable[..., subprocess.Popen[str]]

HOLD = """if True:
    import sys
    from pathlib import Path
    from repro.store.locks import Locks
    held = Locks(Path(sys.argv[1])).try_lock("run")
    print("held" if held else "free", flush=True)
    input()
"""

FORK = """if True:
    import os, sys, time
    from pathlib import Path
    from repro.store.locks import Locks
    lock = Locks(Path(sys.argv[1])).try_lock("run")
    if os.fork() == 0:
        if sys.argv[2] == "releases":
            lock.release()
        print(os.getpid(), flush=True)
        time.sleep(60)
        os._exit(0)
    input()
    lock.release()
    print("released", flush=True)
    input()
"""

COUNT = """if True:
    import os, sys, time
    from pathlib import Path
    from repro.store.locks import Locks
    locks = Locks(Path(sys.argv[1]))
    counter = os.open(sys.argv[2], os.O_RDWR)
    told = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    print("ready", flush=True)
    input()
    end = time.monotonic() + float(sys.argv[4])
    while time.monotonic() < end:
        held = locks.try_lock("counter")
        if held is None:
            continue
        with held:
            value = int(os.pread(counter, 8, 0))
            os.sched_yield()
            os.pwrite(counter, b"%08d" % (value + 1), 0)
            os.write(told, b"%08d\\n" % value)
"""


@pytest.fixture
def locks(tmp_path: Path) -> Locks:
    return Locks(tmp_path)


def test_one_holder_at_a_time(locks: Locks, tmp_path: Path) -> None:
    lock = locks.try_lock("run")
    assert lock is not None
    assert locks.try_lock("run") is None
    assert Locks(tmp_path).try_lock("run") is None
    assert locks.try_lock("another run") is not None
    lock.release()
    lock.release()
    with Locks(tmp_path).lock("run"):
        assert locks.try_lock("run") is None
    assert locks.try_lock("run") is not None


def test_a_released_lock_leaves_no_file(locks: Locks) -> None:
    with locks.lock("run"):
        assert [path.name for path in locks.folder.iterdir()] == ["run"]
    assert list(locks.folder.iterdir()) == []


def test_a_second_release_does_not_free_the_next_holder(locks: Locks) -> None:
    first = locks.lock("run")
    first.release()
    second = locks.lock("run")
    first.release()
    assert locks.try_lock("run") is None
    second.release()


def test_a_wait_that_is_too_long_says_who_is_waited_for(locks: Locks) -> None:
    sentence = rf"/locks/run has been held for 0.01 s by process {os.getpid()} on .*; end it"
    with (
        locks.lock("run"),
        pytest.raises(
            StoreError,
            match=sentence,
        ),
    ):
        locks.lock("run", timeout=0.01)


def test_a_killed_holder_lets_go(locks: Locks, tmp_path: Path, python: Start) -> None:
    holder = python(HOLD, tmp_path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert locks.try_lock("run") is None
    holder.kill()
    holder.wait()
    assert locks.try_lock("run") is not None


@pytest.fixture
def fork(tmp_path: Path, python: Start) -> Iterator[Fork]:
    """Starts a process that takes a lock and forks a child; the child does not outlive the test."""
    children: list[int] = []

    def start(child_does: str = "sleeps") -> subprocess.Popen[str]:
        parent = python(FORK, tmp_path, child_does)
        assert parent.stdout is not None
        children.append(int(parent.stdout.readline()))
        return parent

    yield start
    for child in children:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(locks: Locks, fork: Fork) -> None:
    parent = fork()
    assert locks.try_lock("run") is None
    parent.kill()
    parent.wait()
    assert locks.try_lock("run") is not None


def test_a_forked_child_does_not_keep_what_its_parent_released(locks: Locks, fork: Fork) -> None:
    parent = fork()
    path = locks.folder / "run"
    os.link(path, locks.folder / "kept")  # a new file in its place would be free in any case
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write("go on\n")
    parent.stdin.flush()
    assert parent.stdout.readline() == "released\n"
    os.rename(locks.folder / "kept", path)
    assert locks.try_lock("run") is not None


def test_a_forked_child_cannot_release_the_lock_of_its_parent(locks: Locks, fork: Fork) -> None:
    fork("releases")
    assert (locks.folder / "run").exists()
    assert locks.try_lock("run") is None


def test_lock_files_of_killed_holders_are_swept_when_a_store_is_opened(
    tmp_path: Path, python: Start
) -> None:
    root = tmp_path / "store"
    locks = Store(root).locks
    holder = python(HOLD, root)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait()
    with locks.lock("held"):
        assert {path.name for path in locks.folder.iterdir()} == {"run", "held"}
        Store(root)
        assert [path.name for path in locks.folder.iterdir()] == ["held"]
        assert locks.try_lock("held") is None


def test_a_removed_lock_file_does_not_count_as_held(
    locks: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = locks.lock("run")
    really_open = os.open
    others = []

    def overtaken(path: Path, *rest: int) -> int:
        descriptor = really_open(path, *rest)
        monkeypatch.undo()
        first.release()  # removes the file that was just opened
        others.append(locks.try_lock("run"))
        return descriptor

    monkeypatch.setattr(os, "open", overtaken)
    assert locks.try_lock("run") is None
    assert others[0] is not None


def test_no_count_is_lost_under_the_lock(tmp_path: Path, python: Start) -> None:
    counter = tmp_path / "counter"
    counter.write_text("00000000")
    logs = [tmp_path / f"log {number}" for number in range(6)]
    workers = [python(COUNT, tmp_path, counter, log, 1.5) for log in logs]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    moments = random.Random(0)
    killed = workers[:3]
    sweeper = Locks(tmp_path)
    for worker in killed:
        until = time.monotonic() + moments.uniform(0.2, 0.4)
        while time.monotonic() < until:
            sweeper.sweep()
        worker.kill()
    for worker in workers:
        worker.communicate()
    assert all(worker.returncode == 0 for worker in workers[3:])
    told = [line for log in logs for line in log.read_text().split()]
    assert len(told) > 100
    assert len(set(told)) == len(told), "two holders read the same count"
    # A killed worker may have counted once without telling.
    assert 0 <= int(counter.read_text()) - len(told) <= len(killed)
