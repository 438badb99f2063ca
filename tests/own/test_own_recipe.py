"""The recipes of arms of one's own: checked, and their schedules are torch's."""

import pytest
import torch
from torch.optim.lr_scheduler import LinearLR, OneCycleLR, StepLR

from repro.own.recipe import OwnRecipe

SGD = OwnRecipe(epochs=6, batch=4, lr=0.1, optimiser="sgd", momentum=0.9)


def rates_of_torch(schedule, total):
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule, rates = schedule(optimiser), []
    for step in range(total):
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        if step + 1 < total:
            schedule.step()
    return rates


@pytest.mark.parametrize("total", [6, 60, 61])
@pytest.mark.parametrize(
    ("changed", "of_torch"),
    [
        ({"schedule": "onecycle"}, lambda total: lambda o: OneCycleLR(o, 0.1, total_steps=total)),
        (
            {"schedule": "linear"},
            lambda total: lambda o: LinearLR(o, 1.0, end_factor=0.0, total_iters=total),
        ),
        (
            {"schedule": "step", "drop_every": 2, "drop_to": 0.3},
            lambda total: lambda o: StepLR(o, step_size=2 * (total // 6), gamma=0.3),
        ),
    ],
)
def test_schedules_are_those_of_torch(changed, of_torch, total):
    recipe = SGD.but(**changed)
    rates = [recipe.lr * recipe.lr_factor(step, total) for step in range(total)]
    assert rates == pytest.approx(rates_of_torch(of_torch(total), total), rel=1e-9)


def test_warm_up_and_the_schedules_of_every_recipe_are_as_they_are():
    usual = {"epochs": 2, "batch": 4, "lr": 0.1, "warmup": 4}
    linear = OwnRecipe(**usual, schedule="linear")
    assert [linear.lr_factor(s, 12) for s in (0, 3, 4, 8)] == [0.25, 1.0, 1.0, 0.5]
    cosine = OwnRecipe(**usual, schedule="cosine")
    assert cosine.lr_factor(8, 12) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"optimiser": "lion"}, "optimiser is 'lion'; choose one of 'adamw', 'adam', 'sgd'"),
        ({"schedule": "poly"}, "schedule is 'poly'; choose one of 'constant', .*, 'onecycle'"),
        ({"momentum": 1.0}, "momentum is 1.0; give a number from 0 to below 1"),
        ({"momentum": 0.0, "nesterov": True}, "nesterov is True; give True only with a momentum"),
        ({"optimiser": "adam"}, 'momentum is 0.9; give one only with optimiser="sgd"'),
        ({"schedule": "onecycle", "warmup": 3}, 'warmup is 3; give 0 with schedule="onecycle"'),
        ({"drop_every": 0}, "drop_every is 0; give a whole number"),
        ({"drop_to": 2.0}, "drop_to is 2.0; give a number between 0 and 1"),
        ({"lr": -1.0}, "lr is -1.0; give a positive number"),
        ({"precision": "fp8"}, "precision is 'fp8'; choose one of"),
    ],
)
def test_every_setting_is_checked(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        SGD.but(**changed)
