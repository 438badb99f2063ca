import subprocess
import sys
import time

import pytest

from repro.executor import turn
from repro.executor.local import LocalExecutor
from repro.executor.turn import Turn, turn_on
from repro.store import Store
from repro.store.locks import Locks

HOLD = """
import sys, time
from pathlib import Path
from repro.executor.turn import Turn
from repro.store.locks import Locks

with Turn(Locks(Path(sys.argv[1])), ["one"]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A machine without other sessions."""
    monkeypatch.setattr(turn.tempfile, "gettempdir", lambda: str(tmp_path))


def turns_of_two_sessions(device):
    return [turn_on(device, processes=4, session=session) for session in ("this", "that")]


def test_as_many_have_a_turn_as_there_are_places(tmp_path):
    first, second, third = (Turn(Locks(tmp_path), ["one", "two"]) for _ in range(3))
    with first, second:
        assert {first.lock, second.lock}.isdisjoint({None})
        assert all(Locks(tmp_path).try_lock(name) is None for name in third.names)
    with third, first:  # released places are free again, for the same processes too
        assert all(Locks(tmp_path).try_lock(name) is None for name in third.names)


def test_a_waiting_process_gets_the_turn_of_a_killed_one(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert Locks(tmp_path).try_lock("one") is None
    holder.kill()
    began = time.monotonic()
    with Turn(Locks(tmp_path), ["one"]):
        assert time.monotonic() - began < 10
    holder.wait()
    holder.stdout.close()


@pytest.mark.parametrize(("processes", "places"), [(1, 1), (2, 2), (4, 2)])
def test_no_more_processes_train_than_there_are_cores(elsewhere, monkeypatch, processes, places):
    monkeypatch.setattr(turn, "cores", lambda: 2)
    assert len(turn_on("cpu", processes=processes, session="this").names) == places


def test_one_process_at_a_time_on_an_accelerator_of_whatever_session(elsewhere):
    turns = turns_of_two_sessions("cuda")
    with turns[0]:
        assert turns[1].locks.try_lock("cuda") is None


def test_sessions_do_not_wait_for_each_others_cores(elsewhere):
    turns = turns_of_two_sessions("cpu")
    assert set(turns[0].names).isdisjoint(turns[1].names)


def test_a_session_shares_its_work_among_those_that_train(tmp_path, monkeypatch):
    monkeypatch.setattr(turn, "cores", lambda: 2)
    executor = LocalExecutor(Store(tmp_path), device="cpu", engine="auto", workers=4)
    assert len(executor.turn.names) == 2
