import os
import socket
import stat

import pytest

from repro.backends import local, slots
from repro.backends.local import LocalBackend
from repro.backends.slots import TrainingSlots, slots_folder, slots_on
from repro.runs.backend import TrainingStopped
from repro.store import Store
from repro.store.locks import Locks


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A machine without other sessions; its temporary folder."""
    monkeypatch.setattr(slots.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return tmp_path


def of_two_sessions(device):
    return [slots_on(device, processes=4, session=session) for session in ("this", "that")]


def test_as_many_train_as_there_are_slots(tmp_path):
    first, second, third = (TrainingSlots(Locks(tmp_path), ["one", "two"]) for _ in range(3))
    first.take()
    second.take()
    assert all(Locks(tmp_path).try_lock(name) is None for name in third.names)
    for held in (first, second):
        held.give_back()
    third.take()
    third.take()  # it has one
    first.take()  # what was given back is free again, for the same processes too
    assert all(Locks(tmp_path).try_lock(name) is None for name in third.names)


def test_a_wait_that_is_too_long_ends_and_says_who_has_the_slots(tmp_path):
    first, second = (TrainingSlots(Locks(tmp_path), ["one"]) for _ in range(2))
    assert first.take(0)
    assert not second.take(0)
    assert second.holders == f"process {os.getpid()} on {socket.gethostname()}"
    first.give_back()
    assert second.take(0)


def test_a_backend_that_waits_for_a_slot_for_long_says_so(elsewhere, monkeypatch):
    monkeypatch.setattr(slots, "cores", lambda: 1)
    monkeypatch.setattr(local, "SECONDS_UNTIL_SAID", 0.0)
    mine, other = (
        LocalBackend(Store(elsewhere), device="cpu", processes=1, session="one") for _ in range(2)
    )
    assert other.room() == 1
    assert mine.room() == 0
    assert mine.waits_for.startswith(f"a slot to train in, held by process {os.getpid()} on ")
    other.stop()
    assert mine.room() == 1
    assert mine.waits_for == ""


def test_no_more_processes_train_than_there_are_cores(elsewhere, monkeypatch):
    monkeypatch.setattr(slots, "cores", lambda: 2)
    counts = [slots_on("cpu", processes=n, session="this").count for n in (1, 2, 4)]
    assert counts == [1, 2, 2]
    assert LocalBackend(Store(elsewhere), device="cpu", processes=4).slots == 2


def test_one_process_at_a_time_on_an_accelerator_and_a_session_has_cores_of_its_own(elsewhere):
    both = of_two_sessions("cuda")
    both[0].take()
    assert not both[1].take(0)
    both = of_two_sessions("cpu")
    assert set(both[0].names).isdisjoint(both[1].names)


def test_the_folder_of_slots_is_closed_to_others(elsewhere):
    before = os.umask(0)
    try:
        folder = slots_folder()
        slots_on("cuda", processes=1, session="this").take()
    finally:
        os.umask(before)
    assert folder == elsewhere / f"repro-slots-{os.getuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert slots_folder() == folder


def test_the_folder_of_slots_needs_no_name_of_a_user(elsewhere, monkeypatch):
    folder = elsewhere / "repro-slots-4000000"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)  # of whom no list of users knows
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(TrainingStopped, match="repro-slots-4000000, for the slots"):
        slots_folder()  # it was made by somebody else than this user


def test_a_folder_that_another_user_may_have_made_is_refused(elsewhere):
    folder, target = elsewhere / f"repro-slots-{os.getuid()}", elsewhere / "target"
    for make, undo in (
        (lambda: (folder.mkdir(), folder.chmod(0o777)), folder.rmdir),  # open to all
        (lambda: folder.symlink_to(target), folder.unlink),  # to nothing
        (lambda: (target.mkdir(mode=0o700), folder.symlink_to(target)), folder.unlink),
        (lambda: folder.write_text(""), folder.unlink),
    ):
        make()
        with pytest.raises(TrainingStopped, match=r"/repro-slots-\d+, for the slots .*; .*TMPDIR"):
            slots_on("cuda", processes=1, session="this")
        undo()
    assert list(target.iterdir()) == []


def test_the_user_s_own_runtime_folder_is_preferred(elsewhere, monkeypatch):
    runtime = elsewhere / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert slots_folder() == runtime / "repro-slots"
    runtime.chmod(0o755)
    assert slots_folder().parent == elsewhere
    runtime.rmdir()
    assert slots_folder().parent == elsewhere
