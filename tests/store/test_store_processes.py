"""Processes that share a store, and are killed while they hold locks and write."""

import os
import random
import signal
import time

import pytest

from repro.store.locks import Locks

pytestmark = pytest.mark.thorough

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
    end, value = time.monotonic() + float(sys.argv[4]), 0
    while time.monotonic() < end or value <= 100:  # on a busy machine it takes longer
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
def locks(tmp_path):
    return Locks(tmp_path)


@pytest.fixture
def fork(tmp_path, python):
    """Starts a process that takes a lock and forks a child; the child does not outlive the test."""
    children = []

    def start(child_does="sleeps"):
        parent = python(FORK, tmp_path, child_does)
        children.append(int(parent.stdout.readline()))
        return parent

    yield start
    for child in children:
        os.kill(child, signal.SIGKILL)


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(locks, fork):
    parent = fork()
    assert locks.try_lock("run") is None
    parent.kill()
    parent.wait()
    assert locks.try_lock("run") is not None


def test_a_forked_child_cannot_release_the_lock_of_its_parent(locks, fork):
    fork("releases")
    assert (locks.folder / "run").exists()
    assert locks.try_lock("run") is None


def test_no_count_is_lost_under_the_lock(tmp_path, python):
    counter = tmp_path / "counter"
    counter.write_text("00000000")
    logs = [tmp_path / f"log {number}" for number in range(6)]
    workers = [python(COUNT, tmp_path, counter, log, 1.5) for log in logs]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    moments = random.Random(0)
    killed = workers[:3]
    for worker in killed:
        time.sleep(moments.uniform(0.2, 0.4))
        worker.kill()
    for worker in workers:
        worker.communicate()
    assert all(worker.returncode == 0 for worker in workers[3:])
    told = [line for log in logs for line in log.read_text().split()]
    assert len(told) > 100
    assert len(set(told)) == len(told), "two holders read the same count"
    # A killed worker may have counted once without telling.
    assert 0 <= int(counter.read_text()) - len(told) <= len(killed)
