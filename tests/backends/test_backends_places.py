"""The places of a machine that sessions share, and the folder of their locks."""

import os
import socket
import stat

import pytest
import torch

from repro.backends import places
from repro.backends.places import Places, accelerators, places_folder, places_on
from repro.runs.pool import TrainingStopped
from repro.store.locks import Locks
from tests.backends.behaving import Behaving


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A machine without other sessions; its temporary folder."""
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def sessions(folder, count=2, names=("one", "two/0")):
    return [Places(names, Locks(folder)) for _ in range(count)]


def test_a_place_is_had_by_one_session_at_a_time(tmp_path):
    first, second = sessions(tmp_path)
    assert first.take(1) == ["one"]
    assert second.take(1) == ["two/0"]
    assert first.take(1) == []
    assert second.holders == f"process {os.getpid()} on {socket.gethostname()}"
    second.give_back(["two/0"])
    assert first.take(1) == ["two/0"]


def test_who_wants_several_takes_all_of_them_or_holds_none(tmp_path):
    first, second = sessions(tmp_path)
    assert first.take(1) == ["one"]
    assert second.take(2) == []
    assert first.take(1) == ["two/0"]
    first.give_back(["one", "two/0"])
    assert second.take(2) == ["one", "two/0"]


def test_accelerators_are_shared_and_a_session_has_cores_of_its_own(elsewhere, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(places, "cores", lambda: 2)
    assert [places_on("cuda").take(1), places_on("cpu").take(2)] == [["0"], ["0", "1"]]
    cuda, cpu = places_on("cuda"), places_on("cpu")
    assert cuda.take(1) == ["0"]
    assert places_on("cuda").take(1) == []
    assert cpu.take(2) == ["0", "1"]


def test_accelerators_are_called_as_cuda_calls_them(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert accelerators("cuda") == ["0", "1", "2"]
    for visible, names in (("2,0", ["2", "0"]), ("GPU-8932, 1,3,-1", ["GPU-8932", "1", "3"])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert accelerators("cuda") == names
    assert accelerators("mps") == ["mps"]


def test_a_number_of_devices_that_makes_no_sense_is_refused():
    for name in ("devices", "threads"):
        for number in (0, -1, 1.5, "2", True):
            with pytest.raises(ValueError, match=f"Behaving: {name} is .*; give a whole number"):
                Behaving(**{name: number})


def test_the_folder_of_locks_is_closed_to_others_and_none_that_they_made(elsewhere, monkeypatch):
    before = os.umask(0)
    try:
        folder = places_folder()
    finally:
        os.umask(before)
    assert folder == elsewhere / f"repro-places-{os.getuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert places_folder() == folder
    folder.rmdir()
    folder.symlink_to(elsewhere / "target")  # to nothing
    sentence = r"/repro-places-\d+, for the .*; .*TMPDIR"
    with pytest.raises(TrainingStopped, match=sentence):
        places_on("cuda")
    (elsewhere / "repro-places-4000000").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)  # it was made by somebody else
    with pytest.raises(TrainingStopped, match=sentence):
        places_folder()
