"""A plan over claims that share runs."""

from repro.arm import Run
from repro.own.arm import OutsideArm
from repro.runs.plan import Plan, RunsMissing

FIRST, SHARED, LAST = (Run(OutsideArm(data="none"), seed) for seed in (1, 2, 3))


def test_runs_that_claims_share_are_wanted_and_looked_up_once():
    stored, looked_up = set(), []

    def reader(*runs):
        def read():
            missing = [run for run in runs if run not in stored]
            if missing:
                raise RunsMissing(missing)

        return read

    def is_settled(run):
        looked_up.append(run)
        return run in stored

    plan = Plan([reader(FIRST, SHARED), reader(SHARED, LAST)], is_settled=is_settled, asked=set())
    assert plan.missing() == [FIRST, SHARED, LAST]
    assert looked_up == []
    stored |= {FIRST, SHARED}
    assert plan.missing() == [LAST]
    assert sorted(run.seed for run in looked_up) == [1, 2, 3]
    assert (plan.claims, plan.decided) == (2, 1)
    stored.add(LAST)
    assert plan.missing() == []
