"""Results and engines: views of the store, where what is damaged is never believed."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import ClassVar

import pytest

from repro.arm import Run
from repro.core.device import machine
from repro.core.speed import Speed
from repro.own.arm import OutsideArm
from repro.runs import identity as module
from repro.runs.engines import Engines
from repro.runs.identity import identity
from repro.store import Store, run_key
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.finetuning.arms import FinetuneArm
from tests.local_work import LocalWork


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
