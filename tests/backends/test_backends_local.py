"""Training on this machine when memory is short or a program cannot be trained at all."""

import time

import pytest
import torch

from repro.arm import Run
from repro.backends.local import LocalBackend
from repro.core import train as driver
from repro.core.progress import Progress
from repro.core.speed import Speed
from repro.core.train import Finished
from repro.recipe import Recipe
from repro.studies.early_exit.arms import ONE_LAYER
from tests.local_work import LocalWork
from tests.studies.small import LADDER

pytestmark = pytest.mark.usefixtures("_slots_of_this_test")

ARM = LADDER.but(trained=1, images=64)
RUNS = [Run(ARM, seed) for seed in range(8)]
training = driver.training


def worked(folder, runs=RUNS, *, engine="stacked", width=0):
    """What has been done for these runs; nothing is timed where a stack's width is given."""
    here = LocalWork(folder, engine=engine)
    if width:
        here.engines.settle(runs[0].arm, Speed("stacked", width, 0.5))
    return here.train(runs)


def memory_for(most, monkeypatch, error):
    """Let a batch of more runs than that fail after its first result; returns the sizes tried."""
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
    "error", [torch.OutOfMemoryError("full"), RuntimeError("can't allocate memory: 9 GB")]
)
def test_a_batch_that_memory_cannot_hold_is_halved_and_changes_no_result(
    error, tmp_path, monkeypatch
):
    began = time.monotonic()
    roomy = worked(tmp_path / "roomy", width=8)
    took = time.monotonic() - began
    made = [roomy.results.get(run).provenance for run in RUNS]
    assert {each["trained_with"] for each in made} == {7}
    assert sum(each["seconds"] for each in made) < took  # each has its share of the batch's
    tried = memory_for(2, monkeypatch, error)
    tight = worked(tmp_path / "tight", width=8)
    assert [tight.values(run) for run in RUNS] == [roomy.values(run) for run in RUNS]
    assert tried[0] == 8
    assert max(tried[1:]) == 4
    assert tight.work.trained == len(RUNS)


def test_later_batches_of_a_program_start_at_the_width_that_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr("repro.runs.queue.LEAST_WIDTH", 4)
    tried = memory_for(2, monkeypatch, torch.OutOfMemoryError("full"))
    more = [Run(ARM, seed) for seed in range(10)]
    done = worked(tmp_path, more, width=4)
    assert done.work.trained == 10
    assert tried.count(max(tried)) == 1
    assert set(tried[-3:]) <= {1, 2}


def test_a_run_that_does_not_fit_on_its_own_says_so(tmp_path, monkeypatch):
    def never(study, runs, **options):
        raise MemoryError("no room")
        yield

    monkeypatch.setattr(driver, "training", never)
    done = worked(tmp_path, RUNS[:2])
    assert "BP k=1, seed 0 does not fit into memory" in done.results.failed(RUNS[0])


def test_a_program_that_cannot_be_timed_or_stacked_fails_with_its_reason(tmp_path):
    too_many, uneven = Run(ARM.but(images=10**6), 1), Run(ARM.but(width=20), 1)
    for engine in ("auto", "loop", "stacked"):
        done = worked(tmp_path / engine, [too_many], engine=engine)
        assert "asks for 1000000 training images" in done.results.failed(too_many)
    done = worked(tmp_path / "stacked", [uneven], engine="stacked")
    assert "has no stacked form; leave --engine out" in done.results.failed(uneven)


def test_runs_that_differ_in_measuring_alone_are_claimed_together(tmp_path, monkeypatch):
    arm = ONE_LAYER.but(
        width=8, heads=2, hidden=8, data="wikitext-2-twin", characters=600,
        recipe=Recipe(epochs=1, batch=4, lr=1e-3),
    )  # fmt: skip
    arms = [arm.but(routing_threshold=threshold) for threshold in (0.0, 0.1, 0.9)]
    runs = [Run(arm, seed) for arm in arms for seed in (1, 2)]
    tried = memory_for(3, monkeypatch, MemoryError)
    done = worked(tmp_path, runs, engine="loop")
    assert tried == [3, 3]
    assert done.work.trained == 6
    assert done.engines.seconds(runs) == pytest.approx(done.engines.seconds(runs[:2]))


def test_each_run_goes_on_from_its_own_checkpoint(tmp_path, monkeypatch):
    arm = ARM.but(recipe=ARM.recipe.but(epochs=3))
    runs = [Run(arm, seed) for seed in range(4)]
    plain = worked(tmp_path / "plain", runs, width=4)

    def stops(study, runs, **options):
        for event in training(study, runs, **options, save_seconds=-1):
            yield event
            if isinstance(event, Progress) and event.step > 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(driver, "training", stops)
    with pytest.raises(KeyboardInterrupt):
        worked(tmp_path / "cut", runs, width=4)
    assert len(list((tmp_path / "cut" / "checkpoints").glob("*/*"))) == 4
    monkeypatch.setattr(driver, "training", training)
    for run in runs:  # alone, where they were together
        assert worked(tmp_path / "cut", [run], width=4).values(run) == plain.values(run)


def test_a_checkpoint_that_cannot_be_read_is_reported_in_a_line_and_dropped(tmp_path):
    reports = []
    here = LocalWork(tmp_path / "here", engine="loop", report=reports.append)
    here.engines.settle(ARM, Speed("loop", 1, 0.5))
    key = here.results.key(RUNS[0])
    here.store.checkpoints.save(key, b"of another torch")
    here.train(RUNS[:1])
    (line,) = reports
    assert "\n" not in line
    assert "seed 0 cannot be used" in line
    assert here.store.checkpoints.load(key) is None
    there = worked(tmp_path / "there", RUNS[:1], engine="loop")
    assert here.values(RUNS[0]) == there.values(RUNS[0])


class Died(BaseException):
    """Stands for the end of a process: nothing is put in order."""


def end_without_a_word(backend):
    """Do what the end of a process does: the slot is free, and what was noted stays."""
    backend._slots.give_back()
    return ()


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Trains runs in one process of a session, of which the run of seed 3 is the end."""
    batches = []
    monkeypatch.setattr(LocalBackend, "stop", end_without_a_word)

    def ends(study, runs, **options):
        batches.append([run.seed for run in runs])
        if any(run.seed == 3 for run in runs):
            raise Died
        return training(study, runs, **options)

    monkeypatch.setattr(driver, "training", ends)

    def start(runs=RUNS, *, session="one"):
        """Whether the process came to its end, and what it has to say of each run."""
        del batches[:]
        here = LocalWork(tmp_path, engine="stacked", session=session, report=lambda line: None)
        here.engines.settle(ARM, Speed("stacked", 8, 0.5))
        try:
            here.train(runs)
        except Died:
            return list(batches), None
        return list(batches), [here.results.failed(run) for run in runs]

    return start


def test_the_run_that_ends_its_process_is_found_and_given_up(process):
    batches, after = process()
    assert (batches, after) == ([[0, 1, 2, 3, 4, 5, 6, 7]], None)
    batches, after = process()
    assert (batches, after) == ([[0], [1], [2], [3]], None)
    for _ in range(2):  # another process of the session need not find out for itself
        batches, after = process()
        assert all(3 not in batch for batch in batches)
        assert [seed for seed, why in enumerate(after) if why] == [3]
        assert "seed 3, ended its process twice (a crash in native code, os._exit" in after[3]


def test_a_program_whose_runs_keep_ending_processes_is_given_up(process, monkeypatch):
    def ends(study, runs, **options):
        raise Died

    monkeypatch.setattr(driver, "training", ends)
    for _ in range(3):  # all eight, and two of them alone
        assert process()[1] is None
    _, after = process()
    assert sum("ended its process twice" in why for why in after) == 2
    assert sum("is not trained: 2 runs of its program ended" in why for why in after) == 6
