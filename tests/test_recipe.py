"""Recipes: a setting that nothing would read is refused, and schedules are those of torch."""

import math
import re

import pytest
import torch
from torch.optim.lr_scheduler import LinearLR, OneCycleLR, StepLR

from repro.recipe import Recipe

USUAL = {"epochs": 3, "batch": 8, "lr": 0.1}
SGD = {"optimiser": "sgd", "momentum": 0.9}

REFUSED = [
    ({"optimiser": "lion"}, "optimiser is 'lion'; choose one of 'adamw', 'adam', 'sgd'"),
    ({"schedule": "poly"}, "schedule is 'poly'; choose one of 'constant', 'cosine'"),
    ({**SGD, "momentum": 1.0}, "momentum is 1.0; give a number from 0 to below 1"),
    ({"optimiser": "sgd", "nesterov": True}, "nesterov is True; give True only with a momentum"),
    ({"optimiser": "adam", "momentum": 0.9}, 'momentum is 0.9; give one only with optimiser="sgd"'),
    ({"schedule": "onecycle", "warmup": 3}, 'warmup is 3; give 0 with schedule="onecycle"'),
    ({"drop_every": 0}, "drop_every is 0; give a whole number"),
    ({"drop_to": 2.0}, "drop_to is 2.0; give a number between 0 and 1"),
    ({"precision": "fp8"}, "precision is 'fp8'; choose one of 'float32', 'tf32'"),
    ({"epochs": -1}, "epochs is -1; give a whole number of at least 0"),
    ({"epochs": True}, "epochs is True; give a whole number"),
    ({"batch": 0}, "batch is 0; give a whole number of at least 1"),
    ({"warmup": -1}, "warmup is -1; give a whole number of at least 0"),
    ({"measure_every": 0}, "measure_every is 0; give a whole number of at least 1"),
    ({"patience": 1.5}, "patience is 1.5; give a whole number of at least 0"),
    ({"lr": 0}, "lr is 0; give a positive number"),
    ({"lr": math.nan}, "lr is nan; give a positive number"),
    ({"lr": "1e-3"}, "lr is '1e-3'; give a positive number"),
    ({"weight_decay": -0.1}, "weight_decay is -0.1; give a number of at least 0"),
    ({"least_gain": -0.1}, "least_gain is -0.1; give a number of at least 0"),
    ({"clip": 0.0}, "clip is 0.0; give a positive norm"),
    ({"clip": ()}, "clip is ()"),
    ({"clip": ((0, 0.0),)}, "give positive norms"),
    ({"clip": ((1, 0.5),)}, "clip is ((1, 0.5),); give positive norms"),
    ({"clip": ((0, 0.5), (0, 1.0))}, "give positive norms"),
    ({"clip": [(0, 0.5)]}, "give a positive norm"),
]


def test_a_setting_that_means_nothing_is_refused():
    for setting, said in REFUSED:
        with pytest.raises(ValueError, match=f"Recipe: .*{re.escape(said)}"):
            Recipe(**{**USUAL, **setting})


def test_schedules_warm_up_and_then_follow_their_curve():
    usual = {"epochs": 1, "batch": 1, "lr": 1, "warmup": 4}
    cosine = Recipe(**usual, schedule="cosine")
    factors = [cosine.lr_factor(step, 20) for step in (0, 3, 4, 12, 20)]
    assert factors == pytest.approx([0.25, 1.0, 1.0, 0.5, 0.0])
    linear = Recipe(**usual, schedule="linear")
    assert [linear.lr_factor(s, 12) for s in (0, 3, 4, 8)] == [0.25, 1.0, 1.0, 0.5]
    assert Recipe(**usual, schedule="cosine").lr_factor(8, 12) == pytest.approx(0.5)


def rates_of_torch(schedule, total):
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule, rates = schedule(optimiser), []
    for step in range(total):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        if step + 1 < total:
            schedule.step()
    return rates


@pytest.mark.parametrize("total", [6, 61])
def test_schedules_are_those_of_torch(total):
    step = {"schedule": "step", "drop_every": 2, "drop_to": 0.3}
    for changed, of_torch in (
        ({"schedule": "onecycle"}, lambda o: OneCycleLR(o, 0.1, total_steps=total)),
        ({"schedule": "linear"}, lambda o: LinearLR(o, 1.0, end_factor=0.0, total_iters=total)),
        (step, lambda o: StepLR(o, step_size=2 * (total // 6), gamma=0.3)),
    ):
        recipe = Recipe(epochs=6, batch=4, lr=0.1, **SGD, **changed)
        rates = [recipe.lr * recipe.lr_factor(step, total) for step in range(total)]
        assert rates == pytest.approx(rates_of_torch(of_torch, total), rel=1e-9), changed
