"""Training on this machine when memory is short or a program cannot be trained at all."""

import pytest
import torch

from repro.arm import Run
from repro.core import train as driver
from repro.executor.local import LocalExecutor
from repro.executor.protocol import TrainingFailed
from repro.recipe import Recipe
from repro.store import Store
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.early_exit.arms import ONE_LAYER

ARM = LadderArm(
    width=16, depth=2, rule="bp", trained=1, data="cifar10-twin", pixels=8, images=64, shift=1,
    weight_std=0.1, embedding_std=0.1, recipe=Recipe(epochs=1, batch=32, lr=1e-3),
)  # fmt: skip
RUNS = [Run(ARM, seed) for seed in range(8)]
train = driver.train


def worked(folder, runs=RUNS, *, engine="stacked"):
    """An executor that has done what it could for these runs."""
    executor = LocalExecutor(Store(folder), device="cpu", engine=engine, workers=1)
    executor.work(
        lambda: [r for r in runs if r not in executor.failed and not executor.result(r)],
        lambda work: None,
    )
    return executor


def memory_for(most, monkeypatch, error):
    """Let a batch of more runs than that fail after its first result; returns the sizes tried."""
    tried = []

    def limited(study, runs, **options):
        tried.append(len(runs))
        for result in train(study, runs, **options):
            yield result
            if len(runs) > most:
                raise error

    monkeypatch.setattr(driver, "train", limited)
    return tried


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("full"), RuntimeError("can't allocate memory: 9 GB")]
)
def test_a_batch_that_memory_cannot_hold_is_halved_and_changes_no_result(
    error, tmp_path, monkeypatch
):
    roomy = worked(tmp_path / "roomy")
    tried = memory_for(2, monkeypatch, error)
    tight = worked(tmp_path / "tight")
    assert [tight.result(run) for run in RUNS] == [roomy.result(run) for run in RUNS]
    assert tried[0] == 8
    assert max(tried[1:]) == 4
    assert tight.trained == len(RUNS)


def test_later_batches_of_a_program_start_at_the_width_that_fitted(tmp_path, monkeypatch):
    tried = memory_for(2, monkeypatch, torch.OutOfMemoryError("full"))
    more = [Run(ARM, seed) for seed in range(24)]
    executor = worked(tmp_path, more)
    assert executor.trained == 24
    assert tried.count(max(tried)) == 1
    assert set(tried[-4:]) <= {1, 2}


def test_a_run_that_does_not_fit_on_its_own_says_so(tmp_path, monkeypatch):
    def never(study, runs, **options):
        raise MemoryError("no room")
        yield

    monkeypatch.setattr(driver, "train", never)
    executor = worked(tmp_path, RUNS[:2])
    with pytest.raises(TrainingFailed, match=r"BP k=1, seed 0 does not fit into memory"):
        executor.result(RUNS[0])


@pytest.mark.parametrize("engine", ["auto", "loop", "stacked"])
def test_a_program_that_cannot_even_be_timed_fails_with_its_reason(engine, tmp_path):
    too_many = Run(ARM.but(images=10**6), 1)
    executor = worked(tmp_path, [too_many], engine=engine)
    with pytest.raises(TrainingFailed, match="asks for 1000000 training images"):
        executor.result(too_many)


def test_the_time_left_learns_from_how_early_runs_stopped(tmp_path):
    recipe = ARM.recipe.but(epochs=40, patience=0)
    runs = [Run(ARM.but(recipe=recipe), seed) for seed in range(2)]
    executor = worked(tmp_path, runs[:1], engine="loop")
    executor.known[runs[0]] = {"steps": runs[0].arm.steps // 4}
    assert executor.seconds(runs[1:]) == pytest.approx(executor.pace.seconds(runs[1:]) / 4)
    untrained = Run(ARM.but(recipe=recipe.but(epochs=0)), 1)  # says nothing about it
    executor.known[untrained] = {"steps": 0}
    assert executor.seconds(runs[1:]) == pytest.approx(executor.pace.seconds(runs[1:]) / 4)
    patient = [Run(ARM.but(recipe=recipe.but(patience=None)), 1)]
    assert executor.seconds(patient) == executor.pace.seconds(patient)


def test_stacking_what_has_no_stacked_form_is_refused(tmp_path):
    uneven = Run(ARM.but(width=20), 1)
    executor = worked(tmp_path, [uneven], engine="stacked")
    with pytest.raises(TrainingFailed, match="has no stacked form; leave --engine out"):
        executor.result(uneven)


def test_runs_that_differ_in_measuring_alone_are_claimed_together(tmp_path, monkeypatch):
    arm = ONE_LAYER.but(
        width=8, heads=2, hidden=8, data="wikitext-2-twin", characters=600,
        recipe=Recipe(epochs=1, batch=4, lr=1e-3),
    )  # fmt: skip
    arms = [arm.but(routing_threshold=threshold) for threshold in (0.0, 0.1, 0.9)]
    runs = [Run(arm, seed) for arm in arms for seed in (1, 2)]
    tried = memory_for(3, monkeypatch, MemoryError)
    executor = worked(tmp_path, runs, engine="loop")
    assert tried == [3, 3]
    assert executor.trained == 6
    assert executor.pace.seconds(runs) == pytest.approx(executor.pace.seconds(runs[:2]))
