"""The runs that claims ask for, a plan over claims, and the results, engines and keys of runs."""

import hashlib
import itertools
import json
from dataclasses import asdict, dataclass
from typing import ClassVar

import pytest

from repro.arm import Run
from repro.core.device import machine
from repro.core.speed import Speed
from repro.own.arm import OutsideArm
from repro.runs import identity as module
from repro.runs.asked import Asked
from repro.runs.engines import Engines
from repro.runs.identity import identity
from repro.runs.plan import Plan, RunsMissing
from repro.store import Store, run_key
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.finetuning.arms import FinetuneArm
from tests.local_work import LocalWork

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


@dataclass(frozen=True, kw_only=True)
class Any(OutsideArm):
    study: ClassVar[str] = "none"
    data: str = "none"


RUN = Run(Any(), 1)
HERE, ELSEWHERE = {"machine": machine("cpu")}, {"machine": "x86_64 another"}


def settled(folder, **options):
    work = LocalWork(folder, **options)
    work.engines.settle(RUN.arm, Speed("loop", 1, 0.5))
    return work


def test_a_run_whose_engine_is_not_settled_has_no_result(tmp_path):
    assert LocalWork(tmp_path).results.get(RUN) is None
    with pytest.raises(AssertionError, match="is not settled"):
        LocalWork(tmp_path).results.key(RUN)


def test_weights_are_not_kept_in_memory(tmp_path):
    here = settled(tmp_path)
    here.store.put(here.results.identity(RUN), {"steps": 1}, HERE, weights=b"many")
    assert here.results.get(RUN).values == {"steps": 1}
    assert here.results.get(RUN).weights is None


def test_who_insists_on_one_machine_alone_takes_no_result_from_another(tmp_path):
    strict = settled(tmp_path, same_machine=True)
    strict.store.put(strict.results.identity(RUN), {"steps": 1}, ELSEWHERE)
    assert strict.results.get(RUN) is None
    strict.store.put(strict.results.identity(RUN), {"steps": 2}, HERE)
    assert strict.results.get(RUN).values == {"steps": 2}
    assert settled(tmp_path).results.get(RUN).values == {"steps": 1}


def test_who_insists_on_one_machine_uses_what_that_one_has_trained(tmp_path):
    here = settled(tmp_path)
    here.store.put(here.results.identity(RUN), {"steps": 1}, HERE)
    strict = settled(tmp_path, same_machine=True)
    assert strict.results.get(RUN).values == {"steps": 1}
    assert strict.results.key(RUN) == here.results.key(RUN)


SPEED = Speed("stacked", 8, 0.25, memory=1000)
NONE = ({"engine": "lopp"}, {"width": 0}, {"width": "8"}, {"seconds": float("nan")}, {"memory": -1})


def engines(folder, report=pytest.fail):
    return Engines(Store(folder, report=report), wanted="auto", device="cpu")


@pytest.fixture
def path(tmp_path):
    """The file that a speed was just written to."""
    engines(tmp_path).settle(RUN.arm, SPEED)
    (path,) = (tmp_path / "engines").iterdir()
    return path


def with_a_sum(speed):
    total = hashlib.sha256(json.dumps(speed, sort_keys=True).encode()).hexdigest()
    return json.dumps({"speed": speed, "sha256": total}).encode()


def test_what_is_damaged_is_reported_once_and_never_believed(tmp_path, path):
    whole = path.read_bytes()
    assert engines(tmp_path).of(RUN.arm) == SPEED
    flipped = [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in range(12, len(whole), 9)]
    cut = [whole[:length] for length in range(0, len(whole), 9)]
    impossible = [with_a_sum({**asdict(SPEED), **change}) for change in NONE]
    for content in [*flipped, *cut, *impossible, b"[]", b"null", b'{"speed": {}}']:
        path.write_bytes(content)
        reports = []
        after = engines(tmp_path, report=reports.append)
        assert (after.of(RUN.arm), after.of(RUN.arm)) == (None, None), content
        (line,) = reports
        assert str(path) in line
    after.settle(RUN.arm, SPEED)
    assert path.read_bytes() == whole


TRAINED = Run(LadderArm(width=16, depth=2, rule="bp", trained=1, data="cifar10-twin"), 1)
NAMES = {"arm", "seed", "data", "code", "engine", "device", "torch"}


@pytest.fixture
def _read_anew():
    module._of_arm.cache_clear()
    yield
    module._of_arm.cache_clear()


def key(run=TRAINED, engine="loop", device="cpu"):
    found = identity(run, engine=engine, device=device)
    assert found.keys() == NAMES
    return run_key(found)


@pytest.mark.usefixtures("_read_anew")
def test_whatever_computes_otherwise_has_another_key(monkeypatch):
    precise = TRAINED.arm.recipe.but(precision="bfloat16")
    arms = [TRAINED.arm.but(trained=2), TRAINED.arm.but(recipe=precise)]
    others = [key(Run(TRAINED.arm, 2)), *(key(Run(arm, 1)) for arm in arms)]
    others += [key(engine="stacked"), key(device="cuda")]
    before = key()
    for name in ("torch_version", "_code"):
        with monkeypatch.context() as changed:
            changed.setattr(module, name, lambda *types: "another")
            module._of_arm.cache_clear()
            others.append(key())
    module._of_arm.cache_clear()
    assert len({before, *others}) == 1 + len(others)
    assert key() == before


def test_the_settings_within_settings_are_reached_too():
    arm = FinetuneArm(data="sms-spam-twin")
    types = set(module.types_of(arm))
    assert {type(arm), type(arm.recipe)} <= types
    assert all(root.module and root.name for root in module.roots(frozenset(types)))
