"""The queue: what can start, in which order, and that nobody else has it."""

from dataclasses import dataclass

import pytest

from repro.arm import Run
from repro.core.speed import Speed
from repro.own.arm import OwnArm
from repro.recipe import Recipe
from repro.runs.forecast import Forecast
from repro.runs.jobs import Batch, Timing
from repro.runs.order import Program, in_order, makespan
from repro.runs.queue import LEAST_WIDTH
from repro.store import Result
from tests.backends.test_backends_starts import Base, Tuned
from tests.local_work import LocalWork


def tuned(epochs):
    return Tuned(recipe=Base().recipe.but(epochs=epochs))


SHORT, LONG, BASE = tuned(2), tuned(9), Tuned().starts_from


def process(folder, *, engine="loop", width=1, settled=(BASE.arm, SHORT, LONG)):
    """One of the processes that share a store; some programs are timed already."""
    work = LocalWork(folder)
    for arm in settled:
        work.engines.settle(arm, Speed(engine, width, 0.5))
    return work, work.work._queue


def stored(work, run):
    work.store.put(work.results.identity(run), {"steps": 1}, {})


def taken(queue, runs, *, room=99, among=1):
    queue.fill(runs)
    return list(queue.take(room, among=among))


def runs_of(arm, count=3):
    return [Run(arm, seed) for seed in range(count)]


def test_a_program_is_timed_before_its_runs_have_keys(tmp_path):
    work, queue = process(tmp_path, settled=())
    [job] = taken(queue, [BASE])
    assert isinstance(job, Timing)
    assert job.arms == (Base(),)
    assert not taken(process(tmp_path, settled=())[1], [BASE])  # a neighbour is timing it
    work.engines.settle(Base(), Speed("loop", 1, 0.5))
    queue.over(job)
    assert isinstance(taken(queue, [BASE])[0], Batch)


def test_runs_wait_for_what_they_start_from_and_then_the_shortest_comes_first(tmp_path):
    work, queue = process(tmp_path)
    wanted = [*runs_of(SHORT), *runs_of(LONG), BASE]
    [first] = taken(queue, wanted)
    assert first.runs == [BASE]
    stored(work, BASE)
    queue.over(first)
    jobs = taken(queue, wanted[:-1])
    assert [run for job in jobs for run in job.runs] == [*runs_of(SHORT), *runs_of(LONG)]
    assert {job.start.key for job in jobs} == {work.results.key(BASE)}


def test_the_runs_of_a_claim_come_one_after_another(tmp_path):
    work, queue = process(tmp_path)
    stored(work, BASE)
    claims = [[Run(LONG, 1), Run(SHORT, 0)], [Run(SHORT, 1)], [Run(LONG, 0), Run(LONG, 2)]]
    queue.fill([run for claim in claims for run in claim], claims=claims, slots=1)
    taken = [run for job in queue.take(99, among=1) for run in job.runs]
    assert taken == [Run(SHORT, 1), Run(LONG, 1), Run(SHORT, 0), Run(LONG, 0), Run(LONG, 2)]


def test_what_starts_from_a_failure_fails_too(tmp_path):
    work, queue = process(tmp_path)
    work.work._failures[BASE] = "no numbers today"
    assert not taken(queue, runs_of(SHORT))
    assert "no numbers today" in work.results.failed(Run(SHORT, 0))


def test_nobody_else_has_the_runs_of_a_batch_until_it_is_over(tmp_path):
    stored(process(tmp_path)[0], BASE)
    (_, mine), (_, theirs) = process(tmp_path), process(tmp_path)
    jobs = taken(mine, runs_of(SHORT), room=2)
    assert [job.runs for job in jobs] == [[Run(SHORT, 0)], [Run(SHORT, 1)]]
    assert [job.runs for job in taken(theirs, runs_of(SHORT))] == [[Run(SHORT, 2)]]
    mine.over(jobs[0])
    assert [job.runs for job in taken(theirs, runs_of(SHORT))] == [[Run(SHORT, 0)]]


def test_a_batch_is_as_wide_as_its_program_pays_shared_among_those_who_train(tmp_path):
    work, queue = process(tmp_path, engine="stacked", width=16)
    stored(work, BASE)
    jobs = taken(queue, runs_of(SHORT, 40), room=1)
    assert len(jobs[0].runs) == 16
    queue.over(jobs[0])
    jobs = taken(queue, runs_of(SHORT, 20), room=1, among=2)
    assert len(jobs[0].runs) == 10
    queue.over(jobs[0])
    jobs = taken(queue, runs_of(SHORT, 8), room=1, among=4)
    assert len(jobs[0].runs) == LEAST_WIDTH
    queue.over(jobs[0])
    queue.narrow(SHORT.program, 3)
    assert [len(job.runs) for job in taken(queue, runs_of(SHORT, 7))] == [3, 3, 1]


def test_what_is_stored_meanwhile_is_left_out(tmp_path, monkeypatch):
    """Also what its last holder stored between the look at the store and the lock."""
    work, queue = process(tmp_path)
    stored(work, BASE)
    queue.fill(runs_of(SHORT, 3))
    stored(work, Run(SHORT, 1))
    try_lock = work.store.locks.try_lock

    def late(name):
        if name == work.results.key(Run(SHORT, 0)):
            stored(work, Run(SHORT, 0))
        return try_lock(name)

    monkeypatch.setattr(work.store.locks, "try_lock", late)
    assert [job.runs for job in queue.take(99, among=1)] == [[Run(SHORT, 2)]]
    assert queue.is_empty
    assert try_lock(work.results.key(Run(SHORT, 0))) is not None


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
