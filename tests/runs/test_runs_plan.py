"""The plan over claims: which runs they miss, when they are read again, and which miss none."""

import itertools

import pytest

from repro.arm import Run
from repro.runs.plan import Plan
from repro.runs.results import RunsMissing
from repro.store import StoreError
from tests.runs.fake_pool import Steps

FIRST, SHARED, LAST = (Run(Steps(), seed) for seed in (1, 2, 3))


class Claims:
    """Claims by name with the runs that they need, and which of them were read."""

    def __init__(self, **runs):
        self.stored, self.read = set(), []
        readings = {name: self.reading(name, needed) for name, needed in runs.items()}
        self.plan = Plan(readings, is_done=self.stored.__contains__)

    def reading(self, name, needed):
        def read():
            self.read.append(name)
            if missing := [run for run in needed if run not in self.stored]:
                raise RunsMissing(missing)

        return read

    def store(self, *runs):
        self.stored |= set(runs)
        return self.plan.look(runs)


def test_runs_that_claims_share_are_missing_once():
    claims = Claims(a=[FIRST, SHARED], b=[SHARED, LAST])
    claims.plan.read_all()
    assert list(claims.plan.missing) == [FIRST, SHARED, LAST]
    assert claims.plan.take_new() == [[FIRST, SHARED], [SHARED, LAST]]
    assert claims.plan.take_new() == []
    assert (claims.plan.claims, claims.plan.open) == (2, 2)


def test_a_claim_is_read_again_only_when_all_its_runs_have_come():
    claims = Claims(a=[FIRST, SHARED], b=[LAST], c=[SHARED])
    claims.plan.read_all()
    assert claims.store(SHARED)
    assert claims.read == ["a", "b", "c", "c"]
    assert list(claims.plan.missing) == [FIRST, LAST]
    assert claims.store(FIRST)
    assert claims.read == ["a", "b", "c", "c", "a"]
    assert not claims.plan.look([LAST])  # it has not come
    assert list(claims.plan.missing) == [LAST]
    assert claims.plan.open == 1


def test_each_claim_is_ready_once_and_no_more_are_read_than_it_takes():
    claims = Claims(a=[FIRST], b=[], c=[])
    assert claims.plan.take_ready() == "b"
    assert claims.read == ["a", "b"]
    assert [claims.plan.take_ready() for _ in range(2)] == ["c", None]
    claims.store(FIRST)
    assert [claims.plan.take_ready() for _ in range(2)] == ["a", None]


def test_claims_without_runs_are_ready_first_and_the_last_ones_when_none_is_missing():
    stored = set()
    reading = asking(lambda: [Steps()], stored)
    plan = Plan({"a": reading}, is_done=stored.__contains__, ready=["text"], last=["figure"])
    assert [plan.next_ready, plan.take_ready(), plan.next_ready] == ["text", "text", None]
    assert plan.claims == 1
    stored.update(plan.missing)
    plan.look(plan.missing)
    assert [plan.take_ready() for _ in range(3)] == ["a", "figure", None]


def test_what_else_ends_a_claim_is_its_tests_to_report_but_for_the_store():
    def raising(error):
        def read():
            raise error

        return Plan({"it": read}, is_done=bool)

    assert raising(ZeroDivisionError()).take_ready() == "it"
    with pytest.raises(StoreError):
        raising(StoreError("gone")).take_ready()


def asking(arms, stored):
    """The reading of a claim that asks for two runs of each arm, one arm after another."""

    def read():
        for arm in arms():
            missing = [run for seed in range(2) if (run := Run(arm, seed)) not in stored]
            if missing:
                raise RunsMissing(missing)

    return read


def trained(read, stored, *, looks=20):
    """Train whatever a claim asks for; how many runs that took until it was ready."""
    plan = Plan({"it": read}, is_done=stored.__contains__)
    for _ in range(looks):
        if plan.take_ready():
            return len(stored)
        missing = plan.missing
        stored |= set(missing)
        plan.look(missing)
    return None


def test_a_claim_that_asks_for_other_arms_each_time_ends_after_its_first():
    stored, widths = set(), itertools.count()
    read = asking(lambda: [Steps(count=next(widths))], stored)
    assert trained(read, stored) == 2
    with pytest.raises(RunsMissing, match=r"asks for other arms each time it is read: .*, seed 0"):
        read()


def test_a_claim_may_choose_its_arms_by_the_results():
    stored = set()

    def best():
        yield Steps(count=1)
        yield Steps(count=2 if len(stored) < 3 else 3)

    assert trained(asking(best, stored), stored) == 6


def test_what_another_session_trains_between_two_readings_is_no_change_of_mind():
    stored = set()
    wanted = asking(lambda: (Steps(count=n) for n in range(3)), stored)

    def read():
        try:
            wanted()
        except RunsMissing as stopped:
            if Run(Steps(count=1), 0) in stopped.runs:
                stored.update(stopped.runs)  # by the time that it is read again
            raise

    assert trained(read, stored) == 6
