import subprocess
import sys
import time

import pytest

from repro.backends import turn
from repro.backends.local import LocalBackend
from repro.backends.turn import Turn, turn_on
from repro.store import Store
from repro.store.locks import Locks

HOLD = """
import sys, time
from pathlib import Path
from repro.backends.turn import Turn
from repro.store.locks import Locks

turn = Turn(Locks(Path(sys.argv[1])), ["one"])
turn.take()
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
    first.take()
    second.take()
    assert all(Locks(tmp_path).try_lock(name) is None for name in third.names)
    for held in (first, second):
        held.give_back()
    third.take()
    first.take()  # what was given back is free again, for the same processes too
    assert all(Locks(tmp_path).try_lock(name) is None for name in third.names)


def test_a_turn_that_one_has_is_not_waited_for(tmp_path):
    only = Turn(Locks(tmp_path), ["one"])
    only.take()
    only.take()
    only.give_back()
    only.give_back()
    assert Locks(tmp_path).try_lock("one") is not None


def test_a_waiting_process_gets_the_turn_of_a_killed_one(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert Locks(tmp_path).try_lock("one") is None
    holder.kill()
    began = time.monotonic()
    Turn(Locks(tmp_path), ["one"]).take()
    assert time.monotonic() - began < 10
    holder.wait()
    holder.stdout.close()


@pytest.mark.parametrize(("processes", "places"), [(1, 1), (2, 2), (4, 2)])
def test_no_more_processes_train_than_there_are_cores(elsewhere, monkeypatch, processes, places):
    monkeypatch.setattr(turn, "cores", lambda: 2)
    assert turn_on("cpu", processes=processes, session="this").places == places


def test_one_process_at_a_time_on_an_accelerator_of_whatever_session(elsewhere):
    turns = turns_of_two_sessions("cuda")
    turns[0].take()
    assert turns[1].locks.try_lock("cuda") is None


def test_sessions_do_not_wait_for_each_others_cores(elsewhere):
    turns = turns_of_two_sessions("cpu")
    assert set(turns[0].names).isdisjoint(turns[1].names)


def test_a_session_shares_its_work_among_those_that_train(tmp_path, monkeypatch):
    monkeypatch.setattr(turn, "cores", lambda: 2)
    assert LocalBackend(Store(tmp_path), device="cpu", processes=4).slots == 2
