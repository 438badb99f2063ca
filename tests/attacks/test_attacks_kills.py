"""The store under kills: a process ends at any of its calls to the disk, and nothing is lost."""

import os
import shutil
import signal
import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from repro.store import Store, run_key

if not hasattr(os, "fork"):
    pytest.skip("processes are killed in forked children", allow_module_level=True)

CALLS = ("open", "mkdir", "rename", "replace", "unlink", "fsync", "rmdir")


def killed_at(call, work):
    """Let a child do this work, and kill it before its n-th call; return whether it was."""
    child = os.fork()
    if child == 0:
        left = [call]

        def counted(function):
            def called(*given, **named):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*given, **named)

            return called

        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


class KilledStore(RuleBasedStateMachine):
    """What was put and came back is there for ever; what was killed is whole or not there."""

    runs = Bundle("runs")

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="killed-store-")
        self.stored, self.tried, self.reports = {}, {}, []
        self.store = self.opened()

    def opened(self):
        return Store(self.folder, report=self.reports.append)

    def teardown(self):
        shutil.rmtree(self.folder)

    @rule(target=runs, seed=st.integers(0, 19))
    def name_a_run(self, seed):
        return seed

    @rule(seed=runs)
    def put(self, seed):
        self.store.put({"seed": seed}, {"value": seed}, {})
        self.stored[seed] = {"value": seed}

    @rule(seed=runs, call=st.integers(0, 27))
    def put_and_be_killed(self, seed, call):
        was_killed = killed_at(
            call, lambda: self.opened().put({"seed": seed}, {"value": seed}, {}, weights=b"w" * 9)
        )
        if was_killed:
            self.tried[seed] = {"value": seed}
        else:
            self.stored[seed] = {"value": seed}

    @rule(seed=runs, call=st.integers(0, 20))
    def hold_a_lock_and_be_killed(self, seed, call):
        def work():
            lock = self.opened().locks.try_lock(f"run-{seed}")
            lock.release()

        killed_at(call, work)
        with self.store.locks.lock(f"run-{seed}", timeout=1):
            pass

    @rule(seed=runs, call=st.integers(0, 20))
    def save_a_checkpoint_and_be_killed(self, seed, call):
        key = run_key({"seed": seed})
        self.store.checkpoints.save(key, b"first")
        killed_at(call, lambda: self.opened().checkpoints.save(key, b"second"))
        assert self.store.checkpoints.load(key) in (b"first", b"second")

    @rule()
    def open_it_again(self):
        self.store = self.opened()

    @invariant()
    def what_came_back_is_there_and_nothing_else(self):
        for seed in range(20):
            result = self.store.get({"seed": seed})
            if seed in self.stored:
                assert result is not None
            if result is not None:
                assert result.values == (self.stored | self.tried)[seed]
        assert self.reports == []


TestKilledStore = pytest.mark.thorough(KilledStore.TestCase)
TestKilledStore.settings = settings(max_examples=30, stateful_step_count=20)
