"""The identity of a run: everything that computes, and nothing else."""

import pytest

from repro.arm import Run
from repro.runs import identity as module
from repro.runs.identity import identity
from repro.store import run_key
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.finetuning.arms import FinetuneArm

RUN = Run(LadderArm(width=16, depth=2, rule="bp", trained=1, data="cifar10-twin"), 1)
NAMES = {"arm", "seed", "data", "code", "engine", "device", "torch"}


@pytest.fixture(autouse=True)
def _without_code(monkeypatch):
    monkeypatch.setattr(module, "_code", lambda types: "code")
    module._of_arm.cache_clear()
    yield
    module._of_arm.cache_clear()


def key(run=RUN, engine="loop", device="cpu"):
    found = identity(run, engine=engine, device=device)
    assert found.keys() == NAMES
    return run_key(found)


def test_whatever_computes_otherwise_has_another_key(monkeypatch):
    precise = RUN.arm.recipe.but(precision="bfloat16")
    arms = [RUN.arm.but(trained=2), RUN.arm.but(recipe=precise)]
    others = [key(Run(RUN.arm, 2)), *(key(Run(arm, 1)) for arm in arms)]
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
