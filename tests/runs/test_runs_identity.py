"""The identity of a run: everything that computes, and nothing else."""

import pytest

from repro.arm import Run
from repro.runs import identity as module
from repro.runs.identity import identity
from repro.store import run_key
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.finetuning.arms import FinetuneArm

RUN = Run(LadderArm(width=16, depth=2, rule="bp", trained=1, data="cifar10-twin"), 1)


def test_it_names_what_computes():
    assert identity(RUN, engine="loop", device="cpu").keys() == {
        *("arm", "seed", "data", "code"),
        *("engine", "device", "torch"),
    }


@pytest.mark.parametrize(
    "other",
    [
        {"run": Run(RUN.arm, 2)},
        {"run": Run(RUN.arm.but(trained=2), 1)},
        {"run": Run(RUN.arm.but(recipe=RUN.arm.recipe.but(precision="bfloat16")), 1)},
        {"engine": "stacked"},
        {"device": "cuda"},
    ],
)
def test_whatever_computes_otherwise_has_another_key(other):
    usual = {"run": RUN, "engine": "loop", "device": "cpu"}
    before, after = ({**usual, **change} for change in ({}, other))
    keys = [run_key(identity(x.pop("run"), **x)) for x in (before, after)]
    assert keys[0] != keys[1]


def test_another_version_of_torch_has_another_key(monkeypatch):
    before = identity(RUN, engine="loop", device="cpu")
    monkeypatch.setattr(module, "torch_version", lambda: "1.0")
    assert run_key(identity(RUN, engine="loop", device="cpu")) != run_key(before)


def test_the_settings_within_settings_are_reached_too():
    arm = FinetuneArm(data="sms-spam-twin")
    types = set(module.types_of(arm))
    assert {type(arm), type(arm.recipe)} <= types
    assert all(root.module and root.name for root in module.roots(frozenset(types)))
