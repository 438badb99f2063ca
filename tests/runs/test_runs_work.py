"""The loop that trains: what it cannot store or use is said in one sentence."""

import math

import pytest

from repro.arm import Run
from repro.core import train as driver
from repro.core.train import Finished
from repro.recipe import Recipe
from repro.studies.depth_ladder.arms import LadderArm
from tests.local_work import LocalWork

ARM = LadderArm(
    width=16, depth=2, rule="bp", trained=1, data="cifar10-twin", pixels=8, images=64, shift=1,
    weight_std=0.1, embedding_std=0.1, recipe=Recipe(epochs=1, batch=32, lr=1e-3),
)  # fmt: skip
RUNS = [Run(ARM, seed) for seed in range(2)]
training = driver.training


@pytest.mark.parametrize("value", [math.nan, math.inf, object()])
def test_a_result_that_no_file_can_hold_fails_its_run_and_no_other(value, tmp_path, monkeypatch):
    def measuring(study, runs, **options):
        for event in training(study, runs, **options):
            if isinstance(event, Finished) and event.run == RUNS[0]:
                event.values["measures"]["own"] = value
            yield event

    monkeypatch.setattr(driver, "training", measuring)
    done = LocalWork(tmp_path, engine="stacked").train(RUNS)
    why = done.results.failed(RUNS[0])
    assert "seed 0, has no result to store: values['measures']['own']" in why
    assert done.values(RUNS[1]) is not None
    assert done.work.trained == 1
