"""The time that is told, by what was trained; and the order, the cheapest claims first."""

from dataclasses import dataclass

import pytest

from repro.arm import Run
from repro.core.speed import Speed
from repro.own.arm import OwnArm
from repro.recipe import Recipe
from repro.runs.forecast import Forecast
from repro.runs.order import Program, in_order, makespan
from repro.store import Result


@dataclass(frozen=True, kw_only=True)
class Steps(OwnArm):
    study = "steps"
    data: str = "none"
    count: int = 100
    recipe: Recipe = Recipe(epochs=1, batch=1, lr=1.0)

    @property
    def steps(self):
        return self.count


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

    def add(self, arm, seeds, seconds, *, machine="here"):
        made = {"seconds": seconds, "machine": machine}
        for seed in range(seeds):
            self.results[Run(arm, seed)] = Result("key", {}, {"steps": arm.steps}, made, None)

    def read(self):
        return self.results

    @property
    def count(self):
        return len(self.results)


def test_runs_of_the_same_program_on_this_machine_tell_what_the_next_take():
    known, runs = Known(), [Run(Steps(), seed) for seed in (50, 51)]
    forecast = Forecast(Timed(), known, machine="here")
    assert forecast.seconds(runs) == 200  # as it was timed
    known.add(Steps(), 5, 30.0, machine="elsewhere")
    assert forecast.seconds(runs) == 200
    known.add(Steps(), 6, 30.0)
    assert forecast.seconds(runs) == 60


def test_the_programs_of_the_cheapest_claims_come_first():
    cheap, middle, dear = programs = [Program("c", 1), Program("m", 5), Program("d", 30)]
    claims = [[dear.name, cheap.name], [middle.name], [cheap.name]]
    assert in_order(programs, claims, slots=1) == [cheap, middle, dear]


def test_a_dear_program_does_not_come_last_where_that_would_take_longer():
    dear, *cheap = programs = [Program("dear", 60.0), *(Program(n, 6.0) for n in range(10))]
    order = in_order(programs, [[each.name] for each in programs], slots=2)
    assert makespan(order, slots=2) == pytest.approx(60.0)
    assert makespan([*cheap, dear], slots=2) == 90.0
