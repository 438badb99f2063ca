"""The forecast: what was trained tells what will be, and the cheap say little of the dear."""

import time
from dataclasses import dataclass
from typing import ClassVar

import pytest

from repro.arm import Metric, Run
from repro.core.speed import Speed
from repro.own.arm import OutsideArm, OwnArm
from repro.own.outside import OutsideStudy
from repro.recipe import Recipe
from repro.runs import identity
from repro.runs.forecast import TRUSTED, Forecast
from repro.store import Result
from repro.studies.depth_ladder.arms import D256_L4
from tests.local_work import LocalWork


@dataclass(frozen=True, kw_only=True)
class Steps(OwnArm):
    study = "steps"
    data: str = "none"
    count: int = 100
    recipe: Recipe = Recipe(epochs=1, batch=1, lr=1.0)

    @property
    def steps(self):
        return self.count

    @property
    def work(self):
        return 1e9 * self.count


class Other(Steps):
    study = "others"


class Timed:
    """Every program takes a second a step, says its timing."""

    def of(self, arm):
        return Speed("stacked", 4, 1.0)

    def row(self, run):
        return run


class Known:
    """Results by run, with the seconds that they took."""

    def __init__(self):
        self.results = {}

    def add(self, arm, seeds, seconds, *, machine="here", steps=None):
        made = {"seconds": seconds, "machine": machine}
        for seed in range(seeds):
            result = Result("key", {}, {"steps": steps or arm.steps}, made, None)
            self.results[Run(arm, seed)] = result

    def read(self):
        return self.results

    @property
    def count(self):
        return len(self.results)


@pytest.fixture
def known():
    return Known()


@pytest.fixture
def forecast(known):
    return Forecast(Timed(), known, machine="here")


def runs(arm, count=2):
    return [Run(arm, seed) for seed in range(50, 50 + count)]


@dataclass(frozen=True, kw_only=True)
class Outside(OutsideArm):
    study = "tests.runs.test_runs_forecast"
    metrics: ClassVar = {"seed": Metric("identity")}
    data: str = "none"
    epochs: int = 2
    size: int = 1


def sleep(arm, seed):
    time.sleep(0.3 * arm.size)
    return {"seed": seed}


STUDY = OutsideStudy(sleep)


def test_a_black_box_takes_what_others_of_its_study_took(tmp_path):
    work = LocalWork(tmp_path)
    assert work.forecast.seconds(runs(Outside())) == 0
    work.train(runs(Outside()))
    assert work.forecast.seconds(runs(Outside())) > 0.6
    assert work.forecast.seconds(runs(Outside(size=2))) > 0.6


def test_what_a_black_box_took_is_known_after_its_code_has_changed(tmp_path, monkeypatch):
    LocalWork(tmp_path).train(runs(Outside()))
    monkeypatch.setattr("repro.runs.identity._code", lambda types: "another")
    identity._of_arm.cache_clear()
    work = LocalWork(tmp_path)
    assert work.values(runs(Outside())[0]) is None
    assert work.forecast.seconds(runs(Outside())) > 0.6
    identity._of_arm.cache_clear()


def test_at_first_what_was_timed_counts(forecast):
    assert forecast.seconds(runs(Steps(count=100))) == 200


def test_runs_of_the_same_program_tell_what_the_next_take(forecast, known):
    known.add(Steps(count=100), 5, 30.0)
    assert forecast.seconds(runs(Steps(count=100))) == 60


def test_arms_of_one_program_take_time_in_proportion_to_their_effort(forecast, known):
    """The last k blocks of a ladder train as one program, and each of them takes time."""
    frozen, full = (D256_L4.but(rule="fa", trained=trained) for trained in (0, 4))
    assert frozen.program == full.program
    known.add(frozen, 3, 600.0)
    assert forecast.seconds(runs(frozen)) == pytest.approx(1200)
    assert forecast.seconds(runs(full)) == pytest.approx(1200 * full.effort / frozen.effort)
    assert full.effort > 1.3 * frozen.effort
    forecast.took(runs(full, 3), 3000.0)
    assert forecast.seconds(runs(full)) == pytest.approx(2000)


def test_what_another_kind_of_machine_took_says_nothing(forecast, known):
    known.add(Steps(count=100), 5, 30.0, machine="elsewhere")
    assert forecast.seconds(runs(Steps(count=100))) == 200


def test_cheap_programs_that_took_long_to_start_do_not_make_the_dear_ones_dearer(forecast, known):
    for count in range(1, 5):
        known.add(Steps(count=count), 1, 5.0 + count)  # five seconds, whatever its steps
    assert 1000 < forecast.seconds(runs(Steps(count=1000), 1)) < 1600  # they took three times that


def test_dear_programs_tell_how_far_off_the_others_are(forecast, known):
    known.add(Steps(count=1000), 20, 2000.0)
    assert 1900 < forecast.seconds(runs(Steps(count=999), 1)) < 2000


def test_other_studies_tell_it_until_its_own_do(forecast, known):
    known.add(Other(count=1000), 20, 2000.0)
    of_others = forecast.seconds(runs(Steps(count=100), 1))
    assert 190 < of_others < 200
    known.add(Steps(count=int(TRUSTED)), 1, TRUSTED)
    assert 115 < forecast.seconds(runs(Steps(count=100), 1)) < 135


def patient(count, data):
    """An arm of so many steps that may end after any of its hundred epochs."""
    return Steps(count=count, data=data, recipe=Recipe(epochs=100, batch=1, lr=1.0, patience=0))


def test_the_share_of_steps_that_others_took_is_that_on_the_same_data(forecast, known):
    assert forecast.seconds(runs(patient(10_000, "easy"), 1)) == pytest.approx(1000)
    for data, steps in (("easy", 100), ("hard", 9_000)):
        known.add(patient(10_001, data), 1, float(steps), steps=steps)
    assert forecast.seconds(runs(patient(10_000, "easy"), 1)) == pytest.approx(100, rel=0.02)
    assert forecast.seconds(runs(patient(10_000, "hard"), 1)) == pytest.approx(9000, rel=0.02)
    of_both = forecast.seconds(runs(patient(10_000, "new"), 1))
    assert of_both == pytest.approx(4550, rel=0.02)
