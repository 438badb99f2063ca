"""The queue: what can be trained now, in which order and batches, and that nobody else has it."""

import pytest

from repro.arm import Run
from repro.runs.queue import LARGEST_STEP, LEAST_WIDTH, WIDEST, Queue
from tests.local_work import LocalWork
from tests.runs.fake_pool import BASE, FakePool, Steps, Tuned


def session(folder, *, engine="auto", device="cpu"):
    """A session's view of a store, and its queue."""
    work = LocalWork(folder, pool=FakePool())
    options = {"engine": engine, "device": device, "project": folder}
    return work, Queue(work.store, work.results, **options)


def stored(work, run):
    work.put(run, {"steps": 1})


def taken(queue, *claims, room=99, trainers=1):
    """The batches after these claims were added, each with its missing runs."""
    for runs in claims:
        queue.add(runs)
    queue.look_again()
    return list(queue.take(room=room, trainers=trainers))


def runs_of(arm, count=3):
    return [Run(arm, seed) for seed in range(count)]


def lists(batches):
    return [list(batch.runs) for batch in batches]


TUNED = runs_of(Tuned())


def test_runs_wait_for_what_they_start_from(tmp_path):
    work, queue = session(tmp_path)
    (first,) = taken(queue, [*TUNED, BASE])
    assert first.keys == {BASE: work.results.key(BASE)}
    assert taken(queue, TUNED) == []
    stored(work, BASE)
    queue.over(first.number)
    queue.ended(BASE)
    batches = taken(queue)
    assert [run for batch in batches for run in batch.runs] == TUNED
    starts = {batch.runs[run]["starts_from"] for batch in batches for run in batch.runs}
    assert starts == {work.results.key(BASE)}
    assert {batch.start for batch in batches} == {work.results.get(BASE).content}


def test_what_others_start_from_comes_before_cheaper_claims(tmp_path):
    _, queue = session(tmp_path)
    cheap = [Run(Steps(count=1), 1)]
    batches = taken(queue, cheap, [*TUNED, BASE])
    assert lists(batches) == [[BASE], cheap]


def test_the_cheapest_claims_come_first_with_all_their_runs(tmp_path):
    _, queue = session(tmp_path)
    short, long = runs_of(Steps(count=1)), runs_of(Steps(count=9))
    batches = taken(queue, [long[1], short[0]], [short[1]], [long[0], long[2]])
    wanted = [short[1], long[1], short[0], long[0], long[2]]
    assert lists(batches) == [[run] for run in wanted]
    urgent = [Run(Steps(count=99), 1)]
    queue.add(urgent, first=True)
    assert lists(taken(queue, [short[2]])) == [urgent, [short[2]]]


def test_what_a_claim_waits_for_comes_first_among_the_runs_of_its_program(tmp_path):
    _, queue = session(tmp_path)
    runs = runs_of(Steps(together=True), 2 * WIDEST["cpu"])
    queue.add(runs)
    later = [Run(Steps(together=True), seed) for seed in (98, 99)]
    queue.add([*later, runs[-1]], first=True)
    first, second, third = taken(queue)
    assert list(first.runs)[:3] == [*later, runs[-1]]
    assert {*first.runs, *second.runs, *third.runs} == {*runs, *later}
    assert queue.work == {}


def test_nobody_else_has_the_runs_of_a_batch_until_it_is_over(tmp_path):
    (_, mine), (_, theirs) = session(tmp_path), session(tmp_path)
    runs = runs_of(Steps())
    batches = taken(mine, runs, room=2)
    assert lists(batches) == [[runs[0]], [runs[1]]]
    assert lists(taken(theirs, runs)) == [[runs[2]]]
    assert list(theirs.elsewhere) == runs[:2]
    assert "seed 0, held by process" in theirs.in_training_elsewhere
    assert taken(mine, runs[:2]) == []  # they are under way
    mine.over(batches[0].number)
    assert lists(taken(theirs)) == [[runs[0]]]
    mine.over(batches[1].number)
    assert taken(theirs) == []  # it looked a moment ago


def test_a_batch_of_one_program_is_trained_as_one_where_its_study_stacks(tmp_path):
    _, queue = session(tmp_path)
    stacks = Steps(together=True)
    other = Run(stacks.but(recipe=stacks.recipe.but(lr=0.5)), 7)
    (batch,) = taken(queue, runs_of(stacks), [other])
    assert (len(batch.runs), batch.engine) == (4, "stacked")
    assert {batch.engine for batch in taken(queue, runs_of(Steps()))} == {"loop"}
    _, alone = session(tmp_path / "other", engine="loop")
    batches = taken(alone, runs_of(stacks))
    assert [(len(batch.runs), batch.engine) for batch in batches] == [(1, "loop")] * 3


@pytest.mark.parametrize(
    ("runs", "trainers", "device", "widths"),
    [
        ([20], 2, "cpu", [10, 10]),
        ([LEAST_WIDTH + 1], 4, "cpu", [LEAST_WIDTH, 1]),
        ([WIDEST["cpu"] + 1], 1, "cpu", [WIDEST["cpu"], 1]),
        ([WIDEST["cpu"] + 1], 1, "cuda", [WIDEST["cpu"] + 1]),
        ([15, 15], 2, "cuda", [15, 15]),  # as many programs as trainers
        ([15, 15, 15, 15], 2, "cuda", [15, 15, 15, 15]),
        ([24, 24], 5, "cuda", [12, 12, 8, 8, 8]),
        ([60], 8, "cuda", [8, 8, 8, 8, 8, 8, 8, 4]),
    ],
)
def test_programs_are_split_only_while_fewer_wait_than_trainers(
    tmp_path, runs, trainers, device, widths
):
    _, queue = session(tmp_path, device=device)
    claims = [runs_of(Steps(together=True, count=n + 1), x) for n, x in enumerate(runs)]
    batches = taken(queue, *claims, trainers=trainers)
    assert [len(batch.runs) for batch in batches] == widths


def test_steps_that_fill_a_core_are_stacked_no_further_there(tmp_path):
    large = Steps(together=True, size=LARGEST_STEP / 4)
    assert [len(b.runs) for b in taken(session(tmp_path)[1], runs_of(large, 6))] == [4, 2]


def test_what_is_stored_between_the_look_and_the_lock_is_left_out(tmp_path, monkeypatch):
    work, queue = session(tmp_path)
    (first, second), others = runs_of(Steps(), 2), LocalWork(tmp_path, pool=FakePool())
    try_lock = work.store.locks.try_lock

    def late(name):
        if name == work.results.key(first):
            stored(others, first)
        return try_lock(name)

    monkeypatch.setattr(work.store.locks, "try_lock", late)
    assert lists(taken(queue, [first, second])) == [[second]]
    assert queue.found == [first]
    assert try_lock(work.results.key(first)) is not None
