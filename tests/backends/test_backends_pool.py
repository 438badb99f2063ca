"""What the pools of this machine tell of a batch, with trainers that are made up."""

import json
import math
import os
import subprocess
import sys
import time
import zlib
from itertools import pairwise
from multiprocessing import Pipe

import pytest
import torch
import torch._dynamo  # as the first optimiser does: a second that is no test's own

from repro.backends import local, trainer, trainer_process
from repro.backends.batch_files import StoreFiles, stored
from repro.backends.local import InProcessPool
from repro.backends.packed import unpacked
from repro.backends.places import Places
from repro.core import train as driver
from repro.core.progress import Progress
from repro.core.train import Finished
from repro.runs.pool import Ended, Stored, Trained
from repro.store import Store, StoreError
from repro.studies import study_of
from tests.backends.behaving import (
    SMALL,
    Behaving,
    batch,
    failed,
    first_step,
    heard,
    result_of,
    trained,
)  # fmt: skip

training = driver.training


# Training a batch, in this process


def test_a_pool_tells_the_progress_the_results_and_the_end_of_a_batch(here):
    assert here.room() == 1
    began = time.monotonic()
    here.submit(batch(SMALL, engine="stacked", number=7))
    assert here.room() == 0
    *_, last = events = heard(here)
    took = time.monotonic() - began
    study, device = study_of(SMALL), torch.device("cpu")
    plain = driver.train(study, list(batch(SMALL).runs), engine="stacked", device=device)
    assert trained(events) == {run.seed: values for run, values in plain}
    assert last == Ended(7)
    assert any(isinstance(event, Progress) for event in events)
    hows = [event.provenance for event in events if isinstance(event, Trained)]
    assert sum(how["seconds"] for how in hows) <= took + 0.001  # each has its share of them
    how = hows[0]
    assert (how["engine"], how["trained_with"], how["pid"]) == ("stacked", 1, os.getpid())
    assert "not_stacked" not in how


def test_a_measure_with_the_name_of_the_training_loss_is_refused(here, monkeypatch):
    def measuring_loss(*arguments, **options):
        for event in training(*arguments, **options):
            is_last = isinstance(event, Finished)
            yield Finished(event.run, {"measures": {"loss": 1.0}}) if is_last else event

    monkeypatch.setattr(driver, "training", measuring_loss)
    refused = failed(result_of(here, SMALL, engine="stacked", number=1))
    assert refused.keys() == {0, 1}
    assert "give the measure another name" in refused[0].why


def memory_for(most, monkeypatch, error):
    """Let a batch of more runs than that fail after its first result; return the sizes tried."""
    tried = []

    def limited(study, runs, **options):
        tried.append(len(runs))
        for event in training(study, runs, **options):
            yield event
            if isinstance(event, Finished) and len(runs) > most:
                raise error

    monkeypatch.setattr(driver, "training", limited)
    return tried


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB"),
        RuntimeError("can't allocate memory: 9 GB"),
    ],
)
def test_a_batch_that_memory_cannot_hold_is_halved_and_changes_no_result(here, error, monkeypatch):
    monkeypatch.setattr(trainer, "_widths", {})
    roomy = trained(result_of(here, SMALL, range(8), engine="stacked"))
    tried = memory_for(2, monkeypatch, error)
    tight = result_of(here, SMALL, range(8), engine="stacked", number=2)
    assert trained(tight) == roomy
    assert tried == [8, 4, 2, 1, 2, 1]
    tried.clear()
    result_of(here, SMALL, range(7), engine="stacked", number=3)
    assert tried == [2, 2, 2, 1]  # the width that did not fit is not tried again


def raising(error, after=0):
    """Training that raises in its stacked form, after some events."""

    def train(study, runs, engine, **options):
        for number, event in enumerate(training(study, runs, engine=engine, **options)):
            if engine == "stacked" and number == after:
                raise error
            yield event

    return train


def test_a_run_that_does_not_fit_on_its_own_says_so(here, monkeypatch):
    monkeypatch.setattr(driver, "training", raising(MemoryError()))
    why = failed(result_of(here, SMALL, [0], engine="stacked"))[0].why
    assert "BP k=1, seed 0 does not fit into memory on its own (MemoryError" in why


def test_what_cannot_be_stacked_is_trained_one_by_one_and_says_why(here, monkeypatch):
    plain = trained(result_of(here, SMALL, engine="loop"))
    monkeypatch.setattr(driver, "training", raising(RuntimeError("no vmap for it. And more")))
    events = result_of(here, SMALL, engine="stacked", number=2)
    assert trained(events) == plain
    how = next(event.provenance for event in events if isinstance(event, Trained))
    assert (how["engine"], how["not_stacked"]) == ("loop", "RuntimeError: no vmap for it")


def test_an_error_in_the_middle_of_training_is_none_of_stacking(here, monkeypatch):
    monkeypatch.setattr(driver, "training", raising(RuntimeError("broken"), after=1))
    events = result_of(here, SMALL, engine="stacked")
    assert list(trained(events)) == [0]
    assert "seed 1, failed to train: RuntimeError: broken" in failed(events)[1].why


def test_an_arm_without_a_stacked_form_says_what_to_do(here):
    why = failed(result_of(here, SMALL.but(width=20), engine="stacked"))[0].why
    assert "has no stacked form; leave --engine out" in why


def test_what_a_run_prints_is_kept_for_its_failure(here, capfd):
    failure = failed(result_of(here, Behaving(does="print")))[0]
    assert "ZeroDivisionError" in failure.why
    assert "It had printed:\nto be kept" in failure.details
    assert capfd.readouterr() == ("", "")


def test_a_run_cannot_end_the_session_s_process(here):
    really_exit = os._exit
    assert "called os._exit(3)" in failed(result_of(here, Behaving(does="exit")))[0].why
    assert os._exit is really_exit


def test_each_run_goes_on_from_its_own_checkpoint(here, storing, monkeypatch):
    arm = SMALL.but(recipe=SMALL.recipe.but(epochs=3))
    plain = trained(result_of(here, arm, engine="stacked"))

    def stops(study, runs, **options):
        for event in training(study, runs, **options):
            yield event
            if isinstance(event, Progress) and event.step > 1:
                raise KeyboardInterrupt

    monkeypatch.setattr("repro.backends.batch_files.SAVE_SECONDS", -1)
    monkeypatch.setattr("repro.backends.batch_files.SHARE_OF_SAVING", math.inf)
    monkeypatch.setattr(driver, "training", stops)
    with pytest.raises(KeyboardInterrupt):
        result_of(storing, arm, range(3), engine="stacked")
    assert storing.room() == 1
    assert len(list(storing._store.root.glob("checkpoints/*/*"))) == 3
    monkeypatch.setattr(driver, "training", training)
    for seed in range(2):  # alone, where they were together
        events = result_of(storing, arm, [seed], engine="stacked")
        assert trained(events)[seed] == plain[seed]
        assert first_step(events) == 3
    events = result_of(storing, arm, [2], engine="loop")
    assert first_step(events) == 1  # the other engine has another form of it


def test_a_run_alone_is_tried_once_more_in_memory_that_was_given_back(here, monkeypatch):
    tries = []

    def trains(*given, **options):
        tries.append(1)
        if len(tries) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory: a neighbour was there")
        yield from training(*given, **options)

    monkeypatch.setattr(driver, "training", trains)
    assert trained(result_of(here, SMALL, [1])).keys() == {1}


@pytest.mark.parametrize(("cost", "apart"), [(0.01, 5.0), (2.0, 100.0)])
def test_writing_checkpoints_takes_a_fiftieth_of_the_time(cost, apart, tmp_path, monkeypatch):
    clock, due = [0.0], []
    monkeypatch.setattr("repro.backends.batch_files.time.monotonic", lambda: clock[0])
    of, store = batch(SMALL), Store(tmp_path)
    files = StoreFiles(store, of, show=lambda progress: None, devices={})

    def save(key, payload):
        clock[0] += cost

    monkeypatch.setattr(store.checkpoints, "save", save)
    while clock[0] < 4 * apart:
        clock[0] += apart / 50
        if files.wants_checkpoint():
            due.append(clock[0])
            clock[0] += apart / 4  # the epoch ends here, and is measured
            files.save_checkpoint(next(iter(of.runs)), b"state")
    gaps = [later - sooner for sooner, later in pairwise(due)]
    assert gaps == pytest.approx([apart] * len(gaps), rel=0.05)
    assert len(gaps) >= 2


def of_trace(trace, payload=b"of another torch"):
    """A checkpoint of the loop with a trace."""
    made = zlib.compress(json.dumps(trace).encode())
    return b"loop:" + len(made).to_bytes(8) + made + payload


@pytest.mark.parametrize(
    "saved",
    [
        b"loop:",
        b"loop:of an earlier version",
        of_trace({}),
        of_trace({"modules": {"no_such": {"train()": "1"}}}),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_reported_and_dropped(storing, saved):
    storing._store.report = (reports := []).append
    key = next(iter(batch(SMALL).keys.values()))
    storing._store.checkpoints.save(key, saved)
    assert trained(result_of(storing, SMALL)).keys() == {0, 1}
    assert ["seed 0 cannot be used" in line for line in reports] == [True]
    assert storing._store.checkpoints.load(key) is None


def test_a_result_that_no_file_can_hold_fails_its_run_and_no_other(tmp_path):
    of, store = batch(SMALL, range(4)), Store(tmp_path)
    for run, value in zip(of.runs, (math.nan, math.inf, object(), 0.0), strict=True):
        trained = Trained(run, {"measures": {"own": value}}, {}, trace={"arms": []})
        told = stored(trained, of, store)
        if value == 0.0:
            assert store.at(told.key).values == trained.values
        else:
            assert "has no result to store: values['measures']['own']" in told.why


def test_training_in_this_process_uses_the_accelerator_that_it_has_taken(tmp_path, monkeypatch):
    used = []
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.setattr(local, "train_batch", lambda runs, **options: iter(()))
    pool = InProcessPool(Store(tmp_path), device="cpu", project=tmp_path)
    pool.device, pool._places = "cuda", Places(["4", "7"])
    pool._places.take(1)  # another program trains there
    pool.submit(batch(SMALL))
    assert list(pool.events(1.0)) == [Ended(1)]
    assert used == ["cuda:1"]


# Processes, by trainers that are made up


class MadeUp(trainer_process.TrainerProcess):
    """A trainer that ends with seed 3, and has the result of every other run at once."""

    def __init__(self, visible, *, study, project, root, device):
        self.visible, self.study = visible, study
        self.connection, self.theirs = Pipe()
        self.store, self.has_tasks, self.ends = Store(root), [], False
        self.made.append(self)

    has_ended = property(lambda self: self.ends)

    def send(self, content):
        batch = unpacked(content) if content else None
        seeds = [run.seed for run in batch.runs] if batch else [3]
        self.has_tasks.append(seeds)
        self.ends = 3 in seeds
        if self.ends:
            self.theirs.close()
        elif not self.is_slow:
            for place, identity in enumerate(batch.runs.values()):
                self.theirs.send(Stored(place, self.store.put(identity, {}, {})))
            self.theirs.send(None)

    def interrupt(self):
        self.send(None)

    def printed(self):
        return "a stack of calls"

    def kill(self):
        self.connection.close()
        self.theirs.close()
        return "SIGSEGV: a crash"


@pytest.fixture
def made(monkeypatch):
    """The trainers that a pool starts, which are made up."""
    made = []
    monkeypatch.setattr(local, "TrainerProcess", MadeUp)
    monkeypatch.setattr(MadeUp, "made", made, raising=False)
    monkeypatch.setattr(MadeUp, "is_slow", False, raising=False)
    return made


def test_the_run_that_ends_its_process_is_tried_again_alone_and_given_up(pool, made):
    events = result_of(pool, SMALL, range(5))
    assert made[0].has_tasks == [[0, 1, 2, 3, 4]]
    assert sorted(task for each in made[1:] for task in each.has_tasks) == [[0], [1], [2], [3], [4]]
    assert sorted(trained(events)) == [0, 1, 2, 4]
    assert events[-1] == Ended(1)
    assert "seed 3, ended its process twice (SIGSEGV: a crash); it is" in failed(events)[3].why
    assert failed(events)[3].details == "a stack of calls"
    assert len(made) == 3


def test_a_trainer_is_kept_for_further_batches(pool, made):
    for number in range(3):
        assert len(trained(result_of(pool, SMALL, number=number))) == 2
    assert [len(each.has_tasks) for each in made] == [3]


def test_no_more_batches_train_than_there_are_trainers(pool, made, monkeypatch):
    monkeypatch.setattr(MadeUp, "is_slow", True)
    pool._places = Places(["0", "1", "2"])
    assert pool.room() == 2
    for number in range(3):
        pool.submit(batch(SMALL, number=number))
    assert (len(made), pool.room()) == (2, 0)
    pool.stop()
    assert pool.room() == 2  # and it can be used again


def test_a_second_ctrl_c_ends_all_at_once(pool, made, monkeypatch):
    monkeypatch.setattr(MadeUp, "is_slow", True)
    pool.submit(batch(SMALL))
    made[0].send = lambda content: None  # it does not end, and Ctrl-C comes while it is waited for
    monkeypatch.setattr(local, "wait", interrupted)
    pool.stop()
    assert made[0].connection.closed


def interrupted(connections, seconds):
    raise KeyboardInterrupt


def test_a_black_box_waits_for_its_cores_and_nothing_overtakes_it(pool, made, monkeypatch):
    monkeypatch.setattr(MadeUp, "is_slow", True)
    pool.submit(batch(SMALL))
    pool.submit(batch(Behaving(threads=8), number=2))  # more than there are: all of them
    assert (len(made), pool.room()) == (1, 0)
    made[0].theirs.send(None)
    assert heard(pool) == [Ended(1)]
    list(pool.events(0))
    assert [job.places for job in pool._jobs] == [["0", "1"]]


def test_more_devices_than_there_are_fail_their_runs_alone(pool, here, made):
    for each in (pool, here):
        each._places = Places(["0", "1"])
        why = failed(result_of(each, Behaving(devices=3)))[0].why
        assert "seed 0, asks for 3 devices, and this machine has 2 cores" in why


def test_there_are_no_more_trainers_than_places_whatever_was_asked_for(pool):
    pool._places = Places(["0"])
    assert (pool.trainers, pool.room()) == (1, 1)


def test_a_trainer_sees_its_accelerators_alone_and_no_two_share_one(pool, made):
    pool.device, pool._places = "cuda", Places(["5", "GPU-7"])
    result_of(pool, SMALL)
    result_of(pool, Behaving(devices=2), number=2)
    assert [each.visible for each in made] == ["5", "5,GPU-7"]
    assert made[0].connection.closed


def test_a_store_that_fails_in_a_trainer_fails_here(pool, made, monkeypatch):
    monkeypatch.setattr(MadeUp, "is_slow", True)
    pool.submit(batch(SMALL))
    made[0].theirs.send(StoreError("The store is full"))
    with pytest.raises(StoreError, match="is full"):
        heard(pool)


def test_the_record_of_a_trainer_begins_before_torch_which_may_import_code_of_the_project(tmp_path):
    (tmp_path / "torch.py").write_text("")
    begins, _, _ = trainer_process.START.partition("from repro.backends")
    ask = "import torch; from repro.code.record import FACTS; print(*(x for x, _ in FACTS.modules))"
    places = json.dumps([str(tmp_path), *sys.path])
    command = [sys.executable, "-c", begins + ask, places, *[str(tmp_path)] * 3]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout == "torch\n"
