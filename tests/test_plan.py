"""A plan over claims that share runs."""

from repro.arm import Run
from repro.own.arm import OutsideArm
from repro.plan import Plan, RunsMissing

FIRST, SHARED, LAST = (Run(OutsideArm(data="none"), seed) for seed in (1, 2, 3))


def test_runs_that_claims_share_are_wanted_and_looked_up_once():
    stored, asked = set(), []

    def reader(*runs):
        def read():
            missing = [run for run in runs if run not in stored]
            if missing:
                raise RunsMissing(missing)

        return read

    def is_stored(run):
        asked.append(run)
        return run in stored

    plan = Plan([reader(FIRST, SHARED), reader(SHARED, LAST)], is_stored=is_stored)
    assert plan.wanted() == [FIRST, SHARED, LAST]
    assert asked == []
    stored |= {FIRST, SHARED}
    assert plan.wanted() == [LAST]
    assert sorted(run.seed for run in asked) == [1, 2, 3]
    assert [reading.settled for reading in plan.readings] == [True, False]
    stored.add(LAST)
    assert plan.wanted() == []
