"""Training: from the queue through the pool into the store, beside sessions that share it."""

import errno
import io
import itertools
import math
import os
import re

import pytest

from repro.arm import Run
from repro.backends import files as batch_files
from repro.core.progress import Progress
from repro.runs import queue, training
from repro.runs.pool import Advanced, Failed, Narrowed, Stored, Trained, TrainingStopped
from repro.runs.results import Results
from repro.store import Store, StoreError
from tests.local_work import LocalWork
from tests.runs.fake_pool import BASE, FakePool, Steps, Tuned, result_of, session, trained
from tests.studies.small import LADDER

RUNS = [Run(Steps(), seed) for seed in range(3)]
STACKED = [Run(Steps(together=True), seed) for seed in range(8)]


@pytest.fixture(autouse=True)
def _look_always(monkeypatch):
    monkeypatch.setattr(training, "SECONDS_BETWEEN_LOOKS", 0.0)


def test_everything_that_is_missing_is_trained_once_and_stored(tmp_path):
    work, _ = trained(tmp_path, FakePool(), RUNS, RUNS[:2])
    assert [work.values(run)["measures"]["seed"] for run in RUNS] == [0, 1, 2]
    assert work.training.trained == 3
    assert {"seconds", "commit"} <= set(work.results.get(RUNS[0]).provenance)
    again = FakePool()
    assert trained(tmp_path, again, RUNS)[0].training.trained == 0
    assert again.submitted == []


def test_the_claims_that_are_settled_soonest_are_settled_first(tmp_path):
    dear, cheap = [Run(Steps(count=90), 1)], [Run(Steps(count=5), 1)]
    assert trained(tmp_path, FakePool(), dear, cheap)[1] == [1, 0]


def test_as_many_batches_are_under_way_as_there_is_room_for(tmp_path):
    pool = FakePool(trainers=2)
    work, plan = session(tmp_path, pool, RUNS)
    plan.read_all()
    work.training._hand_over(plan)
    assert pool.seeds == [[0], [1]]
    assert work.training.plan_lines(plan) == ["3 batches"]


def test_runs_that_another_session_holds_are_left_alone_and_looked_for_again(tmp_path):
    neighbour = Store(tmp_path)
    pool = FakePool()
    work, plan = session(tmp_path, pool, RUNS[:2])
    plan.read_all()
    keys = [work.results.key(run) for run in RUNS]
    held = [neighbour.locks.lock(key) for key in keys[:2]]
    work.training.advance(plan, seconds=0.0)
    assert pool.submitted == []
    neighbour.put(work.results.identity(RUNS[0]), {"steps": 1}, {})  # one is done elsewhere,
    for lock in held:
        lock.release()  # and the other is given up there
    work.training.advance(plan, seconds=0.0)
    assert pool.seeds == [[1]]
    assert plan.take_ready() == 0
    assert work.training.trained == 1


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_a_long_wait_for_another_session_is_said(seconds, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "SECONDS_UNTIL_SAID", seconds)
    work, plan = session(tmp_path, FakePool(), RUNS[:1])
    plan.read_all()
    lock = Store(tmp_path).locks.lock(work.results.key(RUNS[0]))
    work.training.advance(plan, seconds=0.0)
    said = work.training.status(plan).waits_for
    assert said.startswith("steps, seed 0, held by process") if seconds == 0 else said == ""
    lock.release()
    work.training.advance(plan, seconds=0.0)
    assert work.training.status(plan).waits_for == ""


def test_runs_that_start_from_a_failure_fail_with_it(tmp_path):
    pool = FakePool(outcome=lambda batch: [Failed(r, "no numbers today") for r in batch.runs])
    tuned = Run(Tuned(), 1)
    work, _ = trained(tmp_path, pool, [BASE, tuned])
    assert [list(batch.runs) for batch in pool.submitted] == [[BASE]]
    assert "no numbers today" in work.results.failed(tuned)


def test_runs_are_trained_once_what_they_start_from_is(tmp_path):
    pool, tuned = FakePool(), Run(Tuned(), 1)
    trained(tmp_path, pool, [tuned, BASE])
    assert [list(batch.runs) for batch in pool.submitted] == [[BASE], [tuned]]


def test_a_failure_and_its_details_are_kept_and_the_run_is_not_tried_again(tmp_path):
    pool = FakePool(outcome=lambda batch: [Failed(r, "out of ideas", "a line") for r in batch.runs])
    work, _ = trained(tmp_path, pool, RUNS[:1])
    assert work.results.failed(RUNS[0]) == "out of ideas"
    assert work.results.details == {RUNS[0]: "a line"}
    assert len(pool.submitted) == 1


def test_what_a_batch_leaves_is_handed_over_again(tmp_path):
    pool = FakePool(outcome=lambda batch: [result_of(batch.runs[-1])])
    trained(tmp_path, pool, STACKED[:3])
    assert pool.seeds == [[0, 1, 2], [0, 1], [0]]


def test_a_result_that_no_file_can_hold_fails_its_run_and_no_other(tmp_path):
    values = [math.nan, math.inf, object(), 0.0]
    pool = FakePool(
        outcome=lambda batch: [
            Trained(run, {"measures": {"own": values[run.seed]}}, {}) for run in batch.runs
        ]
    )
    work, _ = trained(tmp_path, pool, STACKED[:4])
    for run in STACKED[:3]:
        assert "has no result to store: values['measures']['own']" in work.results.failed(run)
    assert work.values(STACKED[3]) is not None
    assert work.training.trained == 1


def test_what_a_trainer_has_stored_counts_as_trained(tmp_path):
    elsewhere = Store(tmp_path)
    view = Results(elsewhere, device="cpu")

    def outcome(batch):
        for run in batch.runs:
            elsewhere.put(view.identity(run), {"steps": 1}, {})
            yield Stored(run)

    work, _ = trained(tmp_path, FakePool(outcome=outcome), RUNS)
    assert work.training.trained == 3


def test_memory_that_held_fewer_runs_halves_later_batches(tmp_path, monkeypatch):
    def outcome(batch):
        if len(batch.runs) > 2:
            yield Narrowed(batch.arm.program, 2)
        yield from map(result_of, batch.runs)

    monkeypatch.setitem(queue.WIDEST, "cpu", 4)
    pool = FakePool(outcome=outcome)
    trained(tmp_path, pool, STACKED)
    assert pool.seeds == [[0, 1, 2, 3], [4, 5], [6, 7]]


def test_a_store_that_fails_stops_training_with_its_sentence(tmp_path, monkeypatch):
    def put(*parts, **more):
        raise StoreError("The store is full.")

    work, plan = session(tmp_path, FakePool(), RUNS)
    plan.read_all()
    monkeypatch.setattr(work.store, "put", put)
    with pytest.raises(TrainingStopped, match=r"The store is full\."):
        work.training.advance(plan, seconds=0.0)


def test_what_was_under_way_when_it_stopped_is_free_for_others(tmp_path):
    def interrupted(batch):
        raise KeyboardInterrupt

    pool = FakePool(trainers=2, outcome=interrupted, last=[result_of(RUNS[0])])
    work, plan = session(tmp_path, pool, RUNS)
    plan.read_all()
    with pytest.raises(KeyboardInterrupt):
        work.training.advance(plan, seconds=0.0)
    work.training.stop()
    assert work.values(RUNS[0]) is not None  # which came at the last moment
    others, _ = trained(tmp_path, FakePool(), RUNS)
    assert others.training.trained == 2


def test_the_status_counts_what_is_done_of_what_is_under_way(tmp_path):
    pool = FakePool(outcome=lambda batch: [Advanced(batch.number, Progress(1, 5, 10))])
    work, plan = session(tmp_path, pool, RUNS[:1], [RUNS[1]])
    plan.read_all()
    seen = []
    work.training.show = seen.append
    work.training._begin()
    work.training._hand_over(plan)
    before = work.training.status(plan)
    assert (before.claims, before.open, before.missing, before.done) == (2, 2, 2, 0.0)
    work.training._take(Advanced(1, Progress(1, 5, 10)))
    status = work.training.status(plan)
    assert status.left == before.left - 5.0
    assert (status.done, status.under_way) == (5.0, "steps x1 5/10")


SENTENCE = re.compile(r"The store \S+ (is full|cannot be used) \([^\n]*\); [^\n]*\.")
FOLDERS = ("runs", "locks", "tmp", "checkpoints", "damaged")
SMALL = [Run(LADDER.but(trained=1, images=64), seed) for seed in range(2)]


def said_by_a_session(folder):
    """What a session in this process says that could not train everything; None where it could."""
    try:
        here = LocalWork(folder, engine="loop", report=lambda line: None).train(SMALL)
    except (StoreError, TrainingStopped) as error:
        return str(error)
    assert [here.results.failed(run) for run in SMALL] == [None, None]
    return None


@pytest.fixture
def _saving(monkeypatch):
    """Keeps a checkpoint wherever there may be one."""
    monkeypatch.setattr(batch_files, "SAVE_SECONDS", -1.0)


@pytest.mark.usefixtures("_saving")
def test_a_file_in_place_of_a_folder_of_the_store_is_named_in_a_sentence(tmp_path):
    part = LocalWork(tmp_path / "any", engine="loop").results.key(SMALL[0])[:2]
    silent = []
    for name in (*FOLDERS, f"runs/{part}", f"checkpoints/{part}"):
        place = tmp_path / name.replace("/", "-") / name
        place.parent.mkdir(parents=True)
        place.write_text("")
        said = said_by_a_session(tmp_path / name.replace("/", "-"))
        if not (said and SENTENCE.fullmatch(said) and str(place) in said):
            silent.append(name)
    assert silent == ["damaged"]  # there is no need of it


@pytest.mark.thorough
@pytest.mark.usefixtures("_saving")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_no_room_for_one_more_file_is_one_sentence_wherever_it_comes(code, tmp_path, monkeypatch):
    left = [0]

    def limited(make, is_new):
        def made(path, *more, **named):
            if str(path).startswith(str(tmp_path)) and is_new(*more, **named):
                left[0] -= 1
                if left[0] < 0:
                    raise OSError(code, os.strerror(code), str(path))
            return make(path, *more, **named)

        return made

    monkeypatch.setattr(os, "mkdir", limited(os.mkdir, lambda *more, **named: True))
    monkeypatch.setattr(
        os, "open", limited(os.open, lambda flags=0, *more, **named: flags & os.O_CREAT)
    )
    monkeypatch.setattr(
        io, "open", limited(io.open, lambda mode="r", *more, **named: mode[0] in "wx")
    )
    for room in itertools.count():
        left[0] = room
        said = said_by_a_session(tmp_path / f"store{room}")
        if said is None:
            break
        assert SENTENCE.fullmatch(said)
    assert room > 20
