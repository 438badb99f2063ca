"""The identity of a run, the key that it comes to, and the results that are found under it."""

import importlib
import sys

import pytest

from repro.arm import Run
from repro.recipe import Recipe
from repro.runs import identity as module
from repro.runs.identity import engine_of, identity
from repro.store import run_key
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.finetuning.arms import FinetuneArm
from tests.evidence.packs import read_code_again
from tests.local_work import LocalWork
from tests.runs.fake_pool import BASE, FakePool, Steps, Tuned

CODE = module._code
RUN = Run(LadderArm(width=16, depth=2, rule="bp", trained=1, data="cifar10-twin"), 1)


@pytest.fixture(autouse=True)
def _read_anew():
    module._of_arm.cache_clear()
    yield
    module._of_arm.cache_clear()


def key(run=RUN, device="cpu"):
    return run_key(identity(run, device=device))


def test_whatever_computes_otherwise_has_another_key(monkeypatch):
    precise = RUN.arm.recipe.but(precision="bfloat16")
    arms = [RUN.arm.but(trained=2), RUN.arm.but(recipe=precise)]
    others = [key(Run(RUN.arm, 2)), *(key(Run(arm, 1)) for arm in arms), key(device="cuda")]
    before = key()
    changes = {(module, "torch_version"), (module, "_code"), (LadderArm, "content")}
    for where, name in changes:
        with monkeypatch.context() as changed:
            changed.setattr(where, name, lambda *types: "another")
            module._of_arm.cache_clear()
            others.append(key())
    module._of_arm.cache_clear()
    assert len({before, *others}) == 1 + len(others)
    assert key() == before


def test_the_engine_and_the_processor_are_no_part_of_it(monkeypatch):
    assert identity(RUN, device="cpu").keys() == {"arm", "seed", "data", "code", "device", "torch"}
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


def test_the_settings_within_settings_are_reached_too():
    arm = FinetuneArm(data="sms-spam-twin")
    types = set(module.types_of(arm))
    assert {type(arm), type(arm.recipe)} <= types
    assert all(root.module and root.name for root in module.roots(frozenset(types)))


STUDY = """
from dataclasses import dataclass
from typing import ClassVar
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy

@dataclass(frozen=True, kw_only=True)
class Blocks(OutsideArm):
    study: ClassVar[str] = "blocks_of_mine"
    depth: int = 4
    data: str = "none"

def train(arm, seed):
    return {"depth": arm.depth}

STUDY = OutsideStudy(train)
"""


@pytest.fixture
def keys_of(tmp_path, monkeypatch):
    """Returns the keys of runs of `Blocks` after an edit, as a new process has them."""
    monkeypatch.setattr(module, "_code", CODE)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)

    def keys_of(old, new, *arms):
        assert old in STUDY
        (tmp_path / "blocks_of_mine.py").write_text(STUDY.replace(old, new, 1))
        sys.modules.pop("blocks_of_mine", None)
        importlib.invalidate_caches()
        read_code_again()
        blocks = importlib.import_module("blocks_of_mine").Blocks
        return [key(Run(blocks(**arm), 1)) for arm in arms]

    yield keys_of
    sys.modules.pop("blocks_of_mine", None)
    read_code_again()


def test_a_setting_that_is_added_keeps_the_keys_of_runs_at_its_default(keys_of):
    (before,) = keys_of("", "", {})
    added = "    data:", "    width: int = 8\n    data:"
    usual, given, other = keys_of(*added, {}, {"width": 8}, {"width": 9})
    assert usual == given == before != other


def test_a_default_that_is_changed_and_that_training_reads_changes_the_key(keys_of):
    before = keys_of("", "", {}, {"depth": 4}, {"depth": 5})
    assert before[0] == before[1] != before[2]
    after = keys_of("depth: int = 4", "depth: int = 5", {}, {"depth": 4}, {"depth": 5})
    assert not set(after) & set(before)


def test_the_key_of_what_a_run_starts_from_is_in_its_own():
    assert identity(Run(Tuned(), 1), device="cpu")["starts_from"] == key(BASE)
    assert identity(Run(Tuned(), 1), device="cpu", starts_from="k")["starts_from"] == "k"
    assert "starts_from" not in identity(BASE, device="cpu")


def test_weights_are_not_kept_in_memory(tmp_path):
    here = LocalWork(tmp_path, pool=FakePool())
    here.store.put(here.results.identity(BASE), {"steps": 1}, {}, weights=b"many")
    assert here.results.get(BASE).values == {"steps": 1}
    assert here.results.get(BASE).weights is None
