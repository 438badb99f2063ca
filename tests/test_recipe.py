"""Recipes: a setting that nothing would read is refused."""

import math

import pytest

from repro.recipe import Recipe

USUAL = {"epochs": 3, "batch": 8, "lr": 0.1}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"optimiser": "sgd"}, "optimiser is 'sgd'; choose one of 'adamw', 'adam'"),
        ({"schedule": "onecycle"}, "schedule is 'onecycle'; choose one of 'constant', 'cosine'"),
        ({"precision": "fp8"}, "precision is 'fp8'; choose one of 'float32', 'bfloat16'"),
        ({"epochs": 2.5}, "epochs is 2.5; give a whole number of at least 0"),
        ({"epochs": True}, "epochs is True; give a whole number"),
        ({"batch": 0}, "batch is 0; give a whole number of at least 1"),
        ({"batch": "8"}, "batch is '8'; give a whole number"),
        ({"warmup": -1}, "warmup is -1; give a whole number of at least 0"),
        ({"measure_every": 0}, "measure_every is 0; give a whole number of at least 1"),
        ({"patience": 1.5}, "patience is 1.5; give a whole number of at least 0"),
        ({"lr": 0}, "lr is 0; give a positive number"),
        ({"lr": math.nan}, "lr is nan; give a positive number"),
        ({"lr": math.inf}, "lr is inf; give a positive number"),
        ({"lr": "1e-3"}, "lr is '1e-3'; give a positive number"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1; give a number of at least 0"),
        ({"weight_decay": None}, "weight_decay is None; give a number of at least 0"),
        ({"least_gain": math.nan}, "least_gain is nan; give a number of at least 0"),
        ({"clip": 0.0}, "clip is 0.0; give a positive norm"),
        ({"clip": math.nan}, "clip is nan; give a positive norm"),
        ({"clip": ((1, 0.5),)}, "clip is ((1, 0.5),); give positive norms"),
        ({"clip": ((0, 0.5), (0, 1.0))}, "give positive norms"),
        ({"clip": [(0, 0.5)]}, "give a positive norm"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(setting, said):
    with pytest.raises(ValueError, match=r"^Recipe: ") as refused:
        Recipe(**{**USUAL, **setting})
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "setting",
    [
        {"optimiser": "adam"},
        {"schedule": "cosine", "warmup": 10},
        {"precision": "float16"},
        {"epochs": 0},
        {"patience": 0},
        {"lr": 1},
        {"clip": ((0, 0.5), (10, 1.0))},
        {"clip": 1},
    ],
)
def test_a_setting_that_means_something_is_kept(setting):
    recipe = Recipe(**{**USUAL, **setting})
    assert {name: getattr(recipe, name) for name in setting} == setting
