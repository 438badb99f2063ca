"""The runs that claims ask for, each counted once; and a plan over the claims."""

import itertools
import json
from dataclasses import dataclass

import pytest

from repro.arm import Run
from repro.own.arm import OutsideArm
from repro.runs.asked import Asked
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


def test_a_claim_is_read_again_only_when_all_its_runs_have_come():
    stored, read = set(), []

    def reader(name, *runs):
        def reads():
            read.append(name)
            if missing := [run for run in runs if run not in stored]:
                raise RunsMissing(missing)

        return reads

    settled = []
    plan = Plan(
        [reader("a", FIRST, SHARED), reader("b", LAST), reader("c", SHARED), reader("d")],
        is_settled=stored.__contains__,
        asked=set(),
        settled=settled.append,
    )
    assert plan.decided == 0
    assert plan.read(3)  # by the session, which tells of it itself
    plan.decide(2)  # by another process
    assert plan.missing() == [FIRST, SHARED, LAST]
    assert read == ["d", "a", "b"]
    stored.add(SHARED)
    assert plan.missing() == [FIRST, LAST]
    assert plan.missing_by_claim() == [(FIRST,), (LAST,)]
    assert read == ["d", "a", "b"]
    stored.add(FIRST)
    assert plan.missing() == [LAST]
    assert read == ["d", "a", "b", "a"]
    assert (settled, plan.decided, plan.claims) == ([0], 3, 4)


@dataclass(frozen=True, kw_only=True)
class Wide(OutsideArm):
    study = "none"
    data: str = "none"
    width: float = 1


def asking(arms, *, stored, seeds=2):
    """A reader of a claim that asks for the arms that `arms()` names one after another."""

    def read():
        for arm in arms():
            missing = [run for seed in range(seeds) if (run := Run(arm, seed)) not in stored]
            if missing:
                raise RunsMissing(missing)

    return read


def trained(read, stored, *, looks=20):
    """Train whatever a claim asks for; how many runs that took, and how its plan ended."""
    plan = Plan([read], is_settled=stored.__contains__, asked=set())
    for _ in range(looks):
        if not (missing := plan.missing()):
            return len(stored), plan.decided
        stored |= set(missing)
    return len(stored), plan.decided


def test_a_claim_that_asks_for_other_arms_each_time_is_given_up_after_its_first():
    stored, widths = set(), itertools.count()
    read = asking(lambda: [Wide(width=next(widths))], stored=stored)
    assert trained(read, stored) == (2, 1)
    with pytest.raises(RunsMissing, match=r"asks for other arms each time it is read: .*, seed 0"):
        read()


def test_a_claim_may_ask_for_more_once_it_has_judged_some():
    stored = set()
    assert trained(asking(lambda: (Wide(width=n) for n in range(9)), stored=stored), stored) == (
        18,
        1,
    )


def test_a_claim_may_choose_its_arms_by_the_results():
    stored = set()

    def best():
        yield Wide(width=1)
        yield Wide(width=2 if len(stored) % 3 else 3)  # whatever it reads of what is stored

    assert trained(asking(best, stored=stored), stored)[1] == 1


def test_what_another_process_trains_between_two_readings_is_no_change_of_mind():
    stored = set()
    wanted = asking(lambda: (Wide(width=n) for n in range(3)), stored=stored)

    def read():
        try:
            wanted()
        except RunsMissing as stopped:
            if Run(Wide(width=1), 0) in stopped.runs:
                stored.update(stopped.runs)  # by the time that it is read again
            raise

    assert trained(read, stored) == (6, 1)


def asked_for(*runs):
    asked = Asked()
    asked.update(runs)
    return asked


def test_what_two_processes_ask_for_is_counted_once():
    here = asked_for(Run(Wide(), 1), Run(Wide(), 2), Run(Wide(), 2))
    there = asked_for(Run(Wide(), 2), Run(Wide(width=3), 1))
    here.tell(json.loads(json.dumps(there.told())))  # as it goes by a file
    assert len(here) == 3
    assert Run(Wide(width=3), 1) in here
    assert Run(Wide(width=3), 2) not in here
    assert list(here) == [Run(Wide(), 1), Run(Wide(), 2)]


def test_settings_of_other_types_are_other_arms():
    assert len(asked_for(Run(Wide(width=1), 1), Run(Wide(width=1.0), 1))) == 2
    assert Run(Wide(width=1.0), 1) not in asked_for(Run(Wide(width=1), 1))


def test_only_what_is_new_is_news():
    asked = asked_for(Run(Wide(), 1))
    assert list(asked.news().values()) == [[1]]
    asked.update([Run(Wide(), 1), Run(Wide(), 2)])
    asked.ask(Wide(), [2, 3])
    assert list(asked.news().values()) == [[2, 3]]
    assert asked.news() == {}
    assert list(asked.told().values()) == [[1, 2, 3]]
