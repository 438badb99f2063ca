"""Runs that hold several devices or cores, on machines that are made up, by real processes."""

import json
import os
import socket
import stat
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ClassVar

import pytest
import torch

from repro.arm import Metric, Run
from repro.backends import local, slots
from repro.backends.devices import accelerators
from repro.backends.local import LocalBackend
from repro.backends.slots import TrainingSlots, slots_folder, slots_on
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy
from repro.runs import batch
from repro.runs.backend import TrainingStopped
from repro.store import Store
from repro.store.locks import Locks
from tests.local_work import LocalWork

pytestmark = pytest.mark.usefixtures("_slots_of_this_test")

SECONDS = 0.1
"""What a run takes, so that those that may train side by side do."""

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch", "tests.local_work", "tests.own.modules"])


@dataclass(frozen=True, kw_only=True)
class Wide(OutsideArm):
    study: ClassVar[str] = "tests.backends.test_backends_devices"
    metrics: ClassVar[dict[str, Metric]] = {"devices": Metric("log")}
    devices: int = 1
    threads: int = 1
    into: str = ""
    beside: int = 0
    data: str = "none"


def train(arm, seed, run):
    began = time.time()
    time.sleep(SECONDS)
    if arm.beside:
        Path(arm.into, f"{arm.devices}-{arm.threads}-{seed}.trains").touch()
        while len(list(Path(arm.into).glob("*.trains"))) < arm.beside and time.time() < began + 60:
            time.sleep(0.01)
    if arm.into:
        told = [run.devices, os.environ.get("CUDA_VISIBLE_DEVICES"), began, time.time()]
        Path(arm.into, f"{arm.devices}-{arm.threads}-{seed}.json").write_text(json.dumps(told))
    return {"devices": len(run.devices)}


STUDY = OutsideStudy(train)


def in_a_process(folder, kind, count, beside, asked):
    """Train as one of three processes, on a machine that has so many devices of a kind."""
    os.environ["XDG_RUNTIME_DIR"] = str(folder / "runtime")
    if kind == "cuda":
        slots.accelerators = local.accelerators = lambda kind: [f"gpu{n}" for n in range(count)]
        local.resolve_device = lambda name: "cuda"
        batch.provenance = lambda device, seconds, runs: {"packages": {}}
    else:
        slots.cores = lambda: count
    local.LocalBackend.machine = "made up"
    arms = [Wide(devices=d, threads=t, into=str(folder), beside=beside) for d, t in asked]
    runs = [Run(arm, seed) for seed in range(2) for arm in arms]
    here = LocalWork(folder / "store", session="one", processes=3)
    (folder / f"{os.getpid()}.begun").touch()
    while len(list(folder.glob("*.begun"))) < 3:
        time.sleep(0.01)
    here.train(runs)
    return [here.results.failed(run) for run in runs]


@pytest.fixture(autouse=True)
def _without_packages(monkeypatch):
    monkeypatch.setattr(batch, "packages_of", lambda arm: {})


def told(folder, kind, count, *asked, beside=0):
    """What every run said of its devices and its time, after three processes trained them all.

    Runs ask for devices and threads. One ends no sooner than so many train `beside` each other, or
    a minute has passed.
    """
    with ProcessPoolExecutor(3, mp_context=PROCESSES) as pool:
        given = (folder, kind, count, beside, asked)
        processes = [pool.submit(in_a_process, *given) for _ in range(3)]
        for process in processes:
            assert process.result(timeout=120) == [None] * 2 * len(asked)
    return [(path.stem, *json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]


def at_once(runs):
    """The sets of runs that trained at one time."""
    return [
        [other for other in runs if other[3] <= run[3] < other[4]]  # when this one began
        for run in runs
    ]


@pytest.mark.thorough
def test_runs_that_train_at_once_hold_no_device_twice(tmp_path):
    runs = told(tmp_path, "cuda", 4, (2, 1), (3, 1), (1, 1))
    assert len(runs) == 6
    for name, held, visible, *_ in runs:
        numbers = [device.removeprefix("cuda:") for device in held]
        assert len(set(held)) == len(held) == int(name[0])
        assert visible == ",".join(f"gpu{number}" for number in numbers)
    for together in at_once(runs):
        held = [device for _, of_run, *_ in together for device in of_run]
        assert len(held) == len(set(held))
    assert all(held == ["cuda:0"] for name, held, *_ in runs if name.startswith("1-"))


@pytest.mark.thorough
def test_runs_that_train_at_once_have_no_more_threads_than_there_are_cores(tmp_path):
    runs = told(tmp_path, "cpu", 3, (1, 2), (1, 1), (2, 1), (1, 8))
    assert len(runs) == 8
    for together in at_once(runs):
        asked = [[int(x) for x in name.split("-")[:2]] for name, *_ in together]
        assert sum(min(3, max(pair)) for pair in asked) <= 3
    assert {len(held) for name, held, *_ in runs if name.startswith("2-")} == {2}


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "count", "asked"), [("cpu", 4, (1, 2)), ("cuda", 4, (2, 1))])
def test_runs_that_slots_are_free_for_train_side_by_side(tmp_path, kind, count, asked):
    first, second = told(tmp_path, kind, count, asked, beside=2)
    assert max(first[3], second[3]) < min(first[4], second[4])
    assert max(first[4] - first[3], second[4] - second[3]) < 60


def test_more_devices_than_there_are_fail_their_runs_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(slots, "cores", lambda: 2)
    runs = [Run(Wide(devices=count), 1) for count in (3, 2)]
    here = LocalWork(tmp_path).train(runs)
    why = here.results.failed(runs[0])
    assert "seed 1, asks for 3 devices, and this machine has 2 cores" in why
    assert here.values(runs[1])["measures"] == {"devices": 2}
    assert here.results.get(runs[1]).provenance["devices"] == 2


def test_more_threads_than_cores_take_all_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(slots, "cores", lambda: 2)
    run, held = Run(Wide(threads=64), 1), set()
    here = LocalWork(tmp_path, session="one")

    def show(status):
        held.add(len(here.work._backend._slots.held))

    assert here.train([run], show).values(run)["measures"] == {"devices": 1}
    assert 2 in held


def test_a_run_that_waits_for_more_slots_says_so_and_keeps_what_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(slots, "cores", lambda: 2)
    monkeypatch.setattr(local, "SECONDS_UNTIL_SAID", 0.0)
    here = LocalWork(tmp_path, session="one")
    locks = Locks(slots.slots_folder())
    other = locks.try_lock("core-1-one")
    said = []

    def show(status):
        said.append(status.waits_for)
        if len(said) == 5:
            assert locks.try_lock("core-0-one") is None
            other.release()

    run = Run(Wide(devices=2), 1)
    assert here.train([run], show).values(run)["measures"] == {"devices": 2}
    assert any(words.startswith("2 slots to train in, held by process ") for words in said)
    assert all(locks.try_lock(f"core-{n}-one") for n in range(2))


def test_two_that_gather_slots_do_not_wait_for_each_other(tmp_path):
    first, second = (TrainingSlots(Locks(tmp_path), ["one", "two"]) for _ in range(2))
    assert first.take(0)
    assert second.take(0)
    assert not first.take_instead(2, of=first.names, seconds=0)
    assert first.held == ["one"]
    assert not second.take_instead(2, of=second.names, seconds=0)
    assert second.held == []
    assert first.take_instead(2, of=first.names, seconds=0)
    first.give_back()
    assert second.take_instead(2, of=second.names, seconds=0)


def test_slots_that_are_not_the_wanted_ones_are_given_back(tmp_path):
    other, mine = (TrainingSlots(Locks(tmp_path), ["one", "two"]) for _ in range(2))
    other.take()
    mine.take()
    assert mine.held == ["two"]
    assert not mine.take_instead(1, of=["one"], seconds=0)
    other.give_back()
    assert mine.take_instead(1, of=["one"], seconds=0)
    assert mine.held == ["one"]


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
            with pytest.raises(ValueError, match=f"Wide: {name} is .*; give a whole number"):
                Wide(**{name: number})


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A machine without other sessions; its temporary folder."""
    monkeypatch.setattr(slots.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return tmp_path


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
    cuda, cpu = (
        [slots_on(device, processes=4, session=session) for session in ("this", "that")]
        for device in ("cuda", "cpu")
    )
    cuda[0].take()
    assert not cuda[1].take(0)
    assert set(cpu[0].names).isdisjoint(cpu[1].names)


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
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert slots_folder() == runtime / "repro-slots"
    runtime.chmod(0o755)
    assert slots_folder().parent == elsewhere
    runtime.rmdir()
    assert slots_folder().parent == elsewhere
