"""Trainings that are black boxes: seeded from the run, checked, and without traces."""

import random
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from repro.arm import Metric, Run
from repro.core.timing import measure_speed
from repro.core.train import train
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy

CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Dice(OutsideArm):
    study: ClassVar[str] = "tests.own.test_own_outside"
    metrics: ClassVar[dict[str, Metric]] = {"sum": Metric("log")}
    sides: int = 6
    data: str = "dice"


def throw(arm, seed):
    drawn = random.random(), np.random.rand(), float(torch.rand(())), seed
    return {"sum": arm.sides * sum(drawn)}


STUDY = OutsideStudy(throw)
RUNS = [Run(Dice(sides=sides), seed) for sides in (6, 20) for seed in (1, 2)]


def trained(study=STUDY):
    return dict(train(study, RUNS, engine="loop", device=CPU))


def test_the_global_generators_draw_from_the_runs_seed_and_are_left_as_they_were():
    first = trained()
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    random.random()
    random.setstate(states[0])
    assert trained() == first
    assert random.getstate() == states[0]
    assert np.random.get_state()[1].tolist() == states[1]
    assert torch.get_rng_state().tolist() == states[2]
    sums = [values["measures"]["sum"] for values in first.values()]
    assert len(set(sums)) == 4
    assert sums[2] / sums[0] == pytest.approx(20 / 6)  # of one seed, so of the same draws


def test_nothing_is_known_but_what_it_measured():
    (values, *_) = trained().values()
    assert values == {"measures": values["measures"], "history": {}, "steps": 0}
    assert measure_speed(STUDY, [Dice()], engine="auto", device=CPU).engine == "loop"


def test_its_settings_are_its_own():
    assert "recipe" not in Dice().settings()
    assert Dice(sides=20).label == "dice sides 20"
    assert Dice().program != Dice(sides=20).program
    with pytest.raises(TypeError, match=r"Dice has no setting 'recipe'; it has .*'sides'"):
        Dice().but(recipe=None)


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match=r"train\(arm, seed\) returned \['total'\], but Dice"):
        trained(OutsideStudy(lambda arm, seed: {"total": 1.0}))
