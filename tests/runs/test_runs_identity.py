"""The identity of a run, its address, and which of the results under it holds."""

from dataclasses import InitVar, dataclass

import pytest

from repro.arm import Arm, Run
from repro.recipe import Recipe
from repro.runs import identity as module
from repro.runs.identity import (
    arms_of,
    engine_of,
    identity,
    name_of_type,
    other_settings,
    settings_of,
)
from repro.runs.results import remarks_on
from repro.store import Made, Result, run_key
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.finetuning.arms import FinetuneArm
from tests.local_work import LocalWork
from tests.runs.fake_pool import BASE, FakePool, Steps, Tuned

RUN = Run(LadderArm(width=16, depth=2, rule="bp", trained=1, data="cifar10-twin"), 1)


@pytest.fixture(autouse=True)
def _read_anew():
    module._of_arm.cache_clear()
    yield
    module._of_arm.cache_clear()


def key(run=RUN, device="cpu"):
    return run_key(identity(run, device=device))


def test_what_is_known_before_makes_the_address(monkeypatch):
    precise = RUN.arm.recipe.but(precision="bfloat16")
    arms = [RUN.arm.but(trained=2), RUN.arm.but(recipe=precise)]
    others = [key(Run(RUN.arm, 2)), *(key(Run(arm, 1)) for arm in arms), key(device="cuda")]
    before = key()
    for where, name in (
        (module, "torch_version"),
        (LadderArm, "content"),
        (module, "name_of_type"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(where, name, lambda *of: "another")
            module._of_arm.cache_clear()
            others.append(key())
    module._of_arm.cache_clear()
    assert len({before, *others}) == 1 + len(others)
    assert key() == before


def test_the_engine_and_the_processor_are_no_part_of_it(monkeypatch):
    assert identity(RUN, device="cpu").keys() == {"arm", "class", "seed", "data", "device", "torch"}
    before = key()
    assert engine_of(RUN.arm) == "stacked"
    monkeypatch.setattr(LadderArm, "stacks_on", lambda arm, device: False)
    assert engine_of(RUN.arm) == "loop"
    module._of_arm.cache_clear()
    assert key() == before


def test_a_setting_at_its_default_is_not_in_it():
    assert Steps().given() == {"arm": "Steps"}
    assert Steps(count=11, together=False).given() == {"arm": "Steps", "count": 11}


def test_within_a_recipe_too_what_is_at_its_default_is_left_out():
    recipe = Steps().recipe.but(lr=0.5, clip=1.0)
    given = Steps(recipe=recipe).given()["recipe"]
    assert given == {"epochs": 1, "batch": 1, "lr": 0.5, "clip": 1.0}
    assert Steps(recipe=Recipe(epochs=1, batch=1, lr=1.0)).given() == {"arm": "Steps"}


def test_all_arms_and_the_parts_of_this_one_count_by_the_values_of_their_fields():
    names = arms_of(FinetuneArm(data="sms-spam-twin"))
    assert {name_of_type(x) for x in (Arm, FinetuneArm, Recipe, Steps)} <= set(names)


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ({"shift": 4}, {"shift": 2}, "shift 4; the arm says 2"),
        ({"on": 1}, {"on": True}, "on 1; the arm says True"),
        ({"zero": 0.0}, {"zero": -0.0}, "zero 0.0; the arm says -0.0"),
        ({"recipe": {"lr": 0.1}}, {"recipe": {"lr": 0.3}}, "recipe.lr 0.1; the arm says 0.3"),
        ({"recipe": {"lr": 0.1}}, {"recipe": {"lr": 0.1, "warmup": 5}}, ""),  # came later
        ({"shift": 4}, {"shift": 4, "width": 8}, ""),
        ({"width": 8}, {"shift": 4}, "width 8, which the arm does not have"),
    ],
)
def test_another_setting_is_named(then, now, words):
    assert other_settings(then, now) == words


def test_the_key_of_what_a_run_starts_from_is_in_its_own():
    assert identity(Run(Tuned(), 1), device="cpu")["starts_from"] == key(BASE)
    assert identity(Run(Tuned(), 1), device="cpu", starts_from="k")["starts_from"] == "k"
    assert "starts_from" not in identity(BASE, device="cpu")


def test_weights_are_not_kept_in_memory(tmp_path):
    here = LocalWork(tmp_path, pool=FakePool())
    here.put(BASE, {"steps": 1}, weights=b"many")
    assert here.results.get(BASE).values == {"steps": 1}
    assert here.results.get(BASE).weights is None


@pytest.fixture
def work(tmp_path):
    return LocalWork(tmp_path, pool=FakePool())


HOLDS, GONE = {"missing": ["no_such"]}, {"modules": {"no_such": {"train()": "1"}}}


def stored(work, run, value, *, trace=HOLDS, settings=None, **made):
    """Store a result of a run with its own trace; return it."""
    digest = work.store.put_trace(trace) if trace else ""
    made = Made(settings_of(run.arm) if settings is None else settings, digest, **made)
    how = {"finished": f"2026-01-0{value}"}
    key = work.store.put(work.results.identity(run), {"measures": value}, how, made=made)
    return work.store.at(key)


def test_the_first_result_that_holds_is_taken_and_what_changed_of_others_is_said(work):
    run = Run(Steps(), 1)
    for value, more, why in (
        (1, {"trace": GONE}, "no_such, which is not here, has changed"),
        (2, {"trace": None}, "what made it is not recorded"),
        (3, {"settings": {"count": 9}}, "it has count 9; the arm says 10"),
    ):
        result = stored(work, run, value, **more)
        results = LocalWork(work.store.root, pool=FakePool()).results
        assert results.get(run) is None
        assert results.stale == {run: (result, [why])}
        assert results.why_again() == [f"1 stored run is trained again: {why}"]
    stored(work, run, 5)
    stored(work, run, 4, trace={"files": {}})
    assert work.values(run) == {"measures": 4}
    assert work.results.stale == {}


def test_a_new_setting_that_the_code_knew_before_does_not_hold(work, monkeypatch):
    run = Run(Steps(), 1)
    stored(work, run, 1, settings={})
    monkeypatch.setattr(work.results.today, "mentioned", lambda trace, new: sorted(new & {"count"}))
    assert work.values(run) is None
    assert work.results.stale[run][1] == ["count is new"]
    assert LocalWork(work.store.root, pool=FakePool()).values(run) == {"measures": 1}


def test_a_run_that_starts_from_another_result_now_does_not_hold(work):
    tuned = Run(Tuned(), 1)
    stored(work, BASE, 1, trace=GONE)
    base = stored(work, BASE, 2)
    stored(work, tuned, 3, start="5e1f")
    assert work.values(tuned) is None
    assert work.results.stale[tuned][1] == ["base, seed 7, which it starts from, has changed"]
    stored(work, tuned, 4, start=base.content)
    assert LocalWork(work.store.root, pool=FakePool()).values(tuned) == {"measures": 4}


def test_another_version_of_a_library_is_told_and_no_reason_to_train(monkeypatch):
    monkeypatch.setattr("repro.runs.results.version_of", {"filelock": "99", "torch": "9"}.get)
    then = {"filelock": "1.2", "torch": "2", "gone": "3"}
    used = Result("", {}, {}, {"packages": then})
    (said,) = remarks_on([(Run(Steps(), 1), used), (Run(Steps(), 2), used)])
    assert said.startswith("Steps was trained with filelock 1.2, and 99 is here now: ")


def test_all_results_of_a_session_are_of_one_version_of_the_code(work):
    first, second, other = (Run(Steps(), seed) for seed in range(3))
    one, two = ({"toy": {"train()": digest, "help()": "1"}} for digest in "12")
    for run, modules in ((first, one), (second, one), (other, two)):
        work.results.keep(run, stored(work, run, 1, trace={"modules": modules}))
    assert [work.results.failed(run) for run in (first, second)] == [None, None]
    assert "after an edit of toy.train, and other runs" in str(work.results.failed(other))
    assert other not in work.results.read()


@dataclass(frozen=True, kw_only=True)
class Kept(Steps):
    more: InitVar[int] = 1

    def __post_init__(self, more: int) -> None:
        object.__setattr__(self, "seen", more)


def test_an_argument_that_is_no_setting_is_refused():
    with pytest.raises(ValueError, match="Kept takes more, which is no field"):
        identity(Run(Kept(more=5), 1), device="cpu")
