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
    assert claims.plan.read_all()
    assert claims.read == ["a", "b", "c", "c"]
    assert list(claims.plan.missing) == [FIRST, LAST]
    assert not claims.plan.look([LAST])  # it has not come
    assert claims.store(FIRST)
    assert claims.plan.read_all()
    assert not claims.plan.read_all(), "there is none left that may miss further runs"
    assert claims.read == ["a", "b", "c", "c", "a"]
    assert list(claims.plan.missing) == [LAST]
    assert claims.plan.open == 1


def test_a_claim_that_is_taken_is_not_read_any_more_and_its_runs_are_the_first():
    claims = Claims(a=[FIRST, SHARED], b=[SHARED, LAST], c=[LAST])
    claims.plan.read_all()
    claims.plan.want(claims.plan.take("c"))
    assert claims.plan.take("c") == []
    assert list(claims.plan.missing) == [LAST, FIRST, SHARED]
    assert (claims.plan.claims, claims.plan.open) == (3, 3)
    claims.store(LAST)
    assert not claims.plan.wanted
    assert claims.plan.take("b") == [SHARED]
    assert list(claims.plan.missing) == [FIRST, SHARED]
    claims.store(FIRST, SHARED)
    assert claims.plan.take("a") == []
    assert not claims.plan.read_all()
    assert claims.read == ["a", "b", "c"]


def test_what_else_ends_a_claim_is_its_tests_to_report_but_for_the_store():
    def raising(error):
        def read():
            raise error

        return Plan({"it": read}, is_done=bool)

    plan = raising(ZeroDivisionError())
    assert plan.read_all()
    assert plan.take("it") == []
    with pytest.raises(StoreError):
        raising(StoreError("gone")).read_all()


def asking(arms, stored):
    """The reading of a claim that asks for two runs of each arm, one arm after another."""

    def read():
        for arm in arms():
            missing = [run for seed in range(2) if (run := Run(arm, seed)) not in stored]
            if missing:
                raise RunsMissing(missing)

    return read


def trained(read, stored, *, looks=20):
    """Train whatever a claim asks for until it asks for no more; return how many runs that took."""
    plan = Plan({"it": read}, is_done=stored.__contains__)
    for _ in range(looks):
        if plan.read_all() and not plan.missing:
            return len(stored)
        missing = list(plan.missing)
        stored |= set(missing)
        plan.look(missing)
    return None


def test_a_claim_that_asks_for_other_arms_each_time_is_left_to_its_test():
    stored, widths = set(), itertools.count()
    assert trained(asking(lambda: [Steps(count=next(widths))], stored), stored) == 2


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
