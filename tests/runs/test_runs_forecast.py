"""The time that is told, by what was trained; and the order, the cheapest claims first."""

import pytest

from repro.arm import Run
from repro.core.device import machine
from repro.core.speed import Speed
from repro.runs.order import Program, in_order, makespan
from tests.local_work import LocalWork
from tests.runs.test_runs_results import Any


def test_runs_of_the_same_program_on_this_machine_tell_what_the_next_take(tmp_path, monkeypatch):
    monkeypatch.setattr("repro.runs.identity._code", lambda types: "code")
    runs = [Run(Any(), seed) for seed in range(4)]
    here = LocalWork(tmp_path)
    here.engines.settle(Any(), Speed("loop", 1, 0.5))
    told = []
    for run, made in zip(runs, ("elsewhere", machine("cpu")), strict=False):
        here.store.put(here.results.identity(run), {"steps": 1}, {"seconds": 30.0, "machine": made})
        assert here.values(run)
        told.append(here.forecast.seconds(runs[2:]))
    assert told[0] != told[1] == 60


def test_the_programs_of_the_cheapest_claims_come_first():
    cheap, middle, dear = programs = [Program("c", 1), Program("m", 5), Program("d", 30)]
    claims = [[dear.name, cheap.name], [middle.name], [cheap.name]]
    assert in_order(programs, claims, slots=1) == [cheap, middle, dear]


def test_a_dear_program_does_not_come_last_where_that_would_take_longer():
    dear, *cheap = programs = [Program("dear", 60.0), *(Program(n, 6.0) for n in range(10))]
    order = in_order(programs, [[each.name] for each in programs], slots=2)
    assert makespan(order, slots=2) == pytest.approx(60.0)
    assert makespan([*cheap, dear], slots=2) == 90.0
