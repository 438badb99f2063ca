"""Training: from the queue through the pool into the store, beside sessions that share it."""

import math
import sys

import pytest

from repro.arm import Run
from repro.core.progress import Progress
from repro.runs import training
from repro.runs.identity import settings_of
from repro.runs.pool import Failed, TrainingStopped
from repro.runs.time_left import RATE
from repro.store import Store, StoreError
from tests.local_work import put
from tests.runs.fake_pool import BASE, FakePool, Steps, Tuned, reading, session, trained

RUNS = [Run(Steps(), seed) for seed in range(3)]
STACKED = [Run(Steps(together=True), seed) for seed in range(8)]


def test_everything_that_is_missing_is_trained_once_and_stored(tmp_path):
    work = trained(tmp_path, FakePool(), RUNS, RUNS[:2])
    assert [work.values(run)["measures"]["seed"] for run in RUNS] == [0, 1, 2]
    assert work.training.trained == 3
    assert "commit" in work.results.get(RUNS[0]).provenance
    again = FakePool()
    assert trained(tmp_path, again, RUNS).training.trained == 0
    assert again.submitted == []


def test_as_many_batches_are_under_way_as_there_is_room_for(tmp_path):
    pool = FakePool(trainers=2)
    work, plan = session(tmp_path, pool, RUNS)
    plan.read_all()
    work.training._hand_over(plan)
    assert pool.seeds == [[0], [1]]


def test_events_are_heard_between_batches_that_are_slow_to_submit(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "SECONDS_OF_SUBMITTING", -1.0)
    pool = FakePool(trainers=3)
    work, plan = session(tmp_path, pool, RUNS)
    plan.read_all()
    assert not work.training._hand_over(plan)
    assert pool.seeds == [[0]]
    plan.want(plan.take(0))
    work.training.train(plan)
    assert pool.seeds == [[0], [1], [2]]


def test_the_work_of_a_batch_does_not_grow_with_all_that_is_missing(tmp_path):
    calls = []

    def outcome(batch):
        calls.append(0)
        return batch.runs

    def count(frame, event, arg):
        if calls and event == "call" and "/repro/runs/" in frame.f_code.co_filename:
            calls[-1] += 1

    def calls_of_a_batch(claims):
        runs = [Run(Steps(count=number), 1) for number in range(claims)]
        list(map(settings_of, [run.arm for run in runs]))  # which are read once
        pool = FakePool(outcome=outcome)
        work, plan = session(tmp_path / str(claims), pool, *([run] for run in runs))
        calls.clear()
        plan.read_all()
        sys.setprofile(count)
        try:
            work.training._advance(plan, 0.0)
        finally:
            sys.setprofile(None)
        return sorted(calls[1:20])[9]  # the median: now and then a status is shown

    assert calls_of_a_batch(100) < 1.1 * calls_of_a_batch(20)


def test_what_is_waited_for_is_trained_first_and_what_costs_least_next(tmp_path):
    pool = FakePool()
    claims = [[Run(Steps(count=count), 0)] for count in (5, 30, 20, 10)]
    work, plan = session(tmp_path, pool, *claims)
    plan.read_all()
    plan.want([*plan.take(1), Run(Steps(count=40), 0)])
    work.training.train(plan, seconds=0.0)
    assert [batch.arm.count for batch in pool.submitted] == [30, 40, 5, 10, 20]


def test_idle_trainers_have_claims_read_again_that_have_got_their_runs(tmp_path):
    pool = FakePool(trainers=2)
    later = Run(Steps(), 9)
    work, plan = session(tmp_path, pool, RUNS[:1], RUNS)
    plan.read_all()
    plan._readings[0].read = reading(work.results, later)  # it is open at its first look
    plan.want(plan.take(1))
    work.training.train(plan, seconds=0.0)
    assert pool.seeds == [[0], [1], [2], [9]]


def test_runs_that_another_session_holds_are_left_alone_and_looked_for_again(tmp_path):
    neighbour = Store(tmp_path)
    pool = FakePool()
    work, plan = session(tmp_path, pool, RUNS[:2])
    plan.read_all()
    keys = [work.results.key(run) for run in RUNS]
    held = [neighbour.locks.lock(key) for key in keys[:2]]
    work.training._advance(plan, 0.0)
    assert pool.submitted == []
    put(neighbour, RUNS[0], work.results.identity(RUNS[0]), {"steps": 1})  # one is done elsewhere,
    for lock in held:
        lock.release()  # and the other is given up there
    work.training._advance(plan, 0.0)
    assert pool.seeds == [[1]]
    assert list(plan.missing) == []
    assert work.training.trained == 1


def test_a_wait_for_another_session_is_said(tmp_path):
    work, plan = session(tmp_path, FakePool(), RUNS[:1])
    plan.read_all()
    lock = Store(tmp_path).locks.lock(work.results.key(RUNS[0]))
    work.training._advance(plan, 0.0)
    assert work.training.status(plan).waits_for.startswith("steps, seed 0, held by process")
    lock.release()
    work.training._advance(plan, 0.0)
    assert work.training.status(plan).waits_for == ""


def test_the_time_left_is_what_runs_of_the_study_have_taken(tmp_path):
    left, pool = [], FakePool(outcome=lambda batch: left.append(seconds_left()) or batch.runs)
    pool.seconds = 3.0  # however long it waited for them

    def seconds_left():
        return work.training.status(plan).seconds_left

    sized = [Run(Steps(size=5e9), seed) for seed in range(3)]
    for runs, guess in ((RUNS, None), (sized, 3 * 10 * 5e9 / RATE)):  # ten steps each
        left.clear()
        pool.submitted.clear()
        work, plan = session(tmp_path, pool, runs)
        plan.read_all()
        assert seconds_left() == guess
        plan.want(plan.take(0))
        work.training.train(plan, seconds=0.0)
        assert left == [guess, 6.0, 3.0]
        first, *others = [batch.seconds for batch in pool.submitted]
        assert (first, others) == (guess / 3 if guess else math.inf, [3.0, 3.0])


def test_a_batch_under_way_tells_the_time_of_what_its_engine_trains(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    looped = Run(Steps(size=1.1), 0)
    work, plan = session(tmp_path, FakePool(), [*STACKED, looped])
    plan.read_all()
    work.training._hand_over(plan)
    clock[0] = 5.0
    work.training.advanced(plan, 1, Progress(runs=8, step=2, total=10))
    assert work.training.status(plan).seconds_left == pytest.approx(20.0)


def test_runs_that_start_from_a_failure_fail_with_it(tmp_path):
    pool = FakePool(outcome=lambda batch: [Failed(r, "no numbers today") for r in batch.runs])
    tuned = Run(Tuned(), 1)
    work = trained(tmp_path, pool, [BASE, tuned])
    assert [list(batch.runs) for batch in pool.submitted] == [[BASE]]
    failed = str(work.results.failed(tuned))
    assert "without what it starts from" in failed
    assert "no numbers today" in failed


def test_a_failure_and_its_details_are_kept_and_the_run_is_not_tried_again(tmp_path):
    pool = FakePool(outcome=lambda batch: [Failed(r, "out of ideas", "a line") for r in batch.runs])
    work = trained(tmp_path, pool, RUNS[:1])
    failed = work.results.failed(RUNS[0])
    assert (str(failed), failed.details) == ("out of ideas", "a line")
    assert len(pool.submitted) == 1


def test_what_a_batch_leaves_is_handed_over_again(tmp_path):
    pool = FakePool(outcome=lambda batch: list(batch.runs)[-1:])
    trained(tmp_path, pool, STACKED[:3])
    assert pool.seeds == [[0, 1, 2], [0, 1], [0]]


def test_a_store_that_fails_stops_training_with_its_sentence(tmp_path):
    def full(batch):
        raise StoreError("The store is full.")

    work, plan = session(tmp_path, FakePool(outcome=full))
    plan.want(RUNS)
    with pytest.raises(TrainingStopped, match=r"The store is full\."):
        work.training.train(plan)


def test_what_was_under_way_when_it_stopped_is_free_for_others(tmp_path):
    def interrupted(batch):
        raise KeyboardInterrupt

    pool = FakePool(trainers=2, outcome=interrupted, last=[RUNS[0]])
    work, plan = session(tmp_path, pool, RUNS)
    plan.read_all()
    with pytest.raises(KeyboardInterrupt):
        work.training._advance(plan, 0.0)
    work.training.stop()
    assert work.values(RUNS[0]) is not None  # which came at the last moment
    assert work.training.trained == 1
    others = trained(tmp_path, FakePool(), RUNS)
    assert others.training.trained == 2


def test_the_status_counts_what_is_missing_and_says_what_is_under_way(tmp_path):
    work, plan = session(tmp_path, FakePool(), RUNS[:1], [RUNS[1]])
    plan.read_all()
    work.training._hand_over(plan)
    before = work.training.status(plan)
    assert (before.claims, before.open, before.missing, before.under_way) == (2, 2, 2, "")
    work.training.advanced(plan, 1, Progress(1, 5, 10))
    assert work.training.status(plan).under_way == "steps x1 5/10"


def test_a_run_of_a_batch_under_way_that_is_stored_takes_no_more_time(tmp_path):
    work, plan = session(tmp_path, FakePool(), STACKED[:2])
    plan.read_all()
    work.training._hand_over(plan)
    stored = work.pool.put(STACKED[0], work.pool.submitted[0])
    work.training.advanced(plan, 1, Progress(2, 10, 10))
    work.training._take(stored, plan)
    assert work.training.status(plan).seconds_left == 0.0
