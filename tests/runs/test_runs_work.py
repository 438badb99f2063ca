"""The loop that trains: what it cannot store or use is said in one sentence."""

import math
import os

import pytest

from repro.arm import Run
from repro.core import train as driver
from repro.core.speed import Speed
from repro.core.train import Finished
from repro.recipe import Recipe
from repro.runs import work
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


@pytest.mark.parametrize(("seconds", "is_said"), [(0.0, True), (30.0, False)])
@pytest.mark.parametrize("settled", [True, False])
def test_a_process_that_waits_for_a_neighbour_says_whom_it_waits_for(
    seconds, is_said, settled, tmp_path, monkeypatch
):
    monkeypatch.setattr(work, "SECONDS_UNTIL_SAID", seconds)
    here = LocalWork(tmp_path)
    if settled:
        here.engines.settle(ARM, Speed("loop", 1, 0.5))
        what, name = "seed 0", here.results.key(RUNS[0])
    else:
        what, name = "the timing of", f"engine-{here.engines.name_of(ARM)}"
    neighbour = here.store.locks.lock(name)
    seen = []

    def show(status):
        seen.append(status.waits_for)
        if len(seen) == 6:
            neighbour.release()

    here.train(RUNS[:1], show)
    assert here.work.trained == 1
    said = [waits_for for waits_for in seen if waits_for]
    assert bool(said) is is_said
    for each in said[:5]:
        assert what in each
        assert f"held by process {os.getpid()} on " in each
    assert seen[-1] == ""
