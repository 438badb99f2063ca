"""Runs that start from what another run ended with."""

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from repro.arm import Arm, Metric, Run
from repro.core.streams import normal, stream
from repro.data.safetensors import read_tensors
from repro.executor.local import LocalExecutor
from repro.executor.protocol import TrainingFailed
from repro.plan import PROFILES, RunsMissing
from repro.plugin.trials import Trials
from repro.recipe import Recipe
from repro.store import Store


@dataclass(frozen=True, kw_only=True)
class Base(Arm):
    study: ClassVar[str] = "test_executor_starts"
    metrics: ClassVar[dict] = {"norm": Metric("identity")}
    keeps_weights: ClassVar[bool] = True

    data: str = "numbers"
    recipe: Recipe = Recipe(epochs=2, batch=4, lr=0.1)

    def at(self, profile):
        return self

    def content(self):
        return "numbers"

    @property
    def steps(self):
        return self.recipe.epochs * 2


@dataclass(frozen=True, kw_only=True)
class Tuned(Base):
    keeps_weights: ClassVar[bool] = False

    of: Base = Base()

    @property
    def starts_from(self):
        return Run(self.of, 7)


class Model:
    def __init__(self, run, parameters):
        self.module = torch.nn.Linear(3, 1)
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                parameter.copy_(normal(run.seed, name, tuple(parameter.shape), std=1.0))
            self.started = 0.0
            if parameters is not None:
                self.module.bias.copy_(parameters["bias"])
                self.started = float(parameters["weight"].sum())

    def lr_scales(self):
        return {}

    def loss(self, x):
        loss = self.module(x).square().mean()
        return loss, loss

    def measure(self):
        weight = self.module.weight.detach()
        return {"norm": float(weight.norm()), "sum": float(weight.sum()), "started": self.started}


class Numbers:
    def __init__(self, parameters=None):
        self.parameters = parameters

    def epoch(self, seed, number):
        return torch.randperm(8, generator=stream(seed, f"order/{number}"))[:, None]

    def batch(self, lines):
        return (torch.arange(24.0).view(8, 3)[lines[..., 0]],)


class Experiment:
    monitor = None

    def load(self, arm, device):
        return Numbers()

    def load_from(self, arm, parameters, device):
        return Numbers(parameters)

    def reference(self, run, data, device):
        return Model(run, data.parameters)


STUDY = Experiment()
TUNED = [Run(Tuned(), seed) for seed in range(3)]
BASE = TUNED[0].arm.starts_from


def executor_in(folder, **options):
    return LocalExecutor(Store(folder, **options), device="cpu", engine="auto", workers=1)


def worked(executor, runs):
    executor.work(
        lambda: [r for r in runs if r not in executor.failed and executor.result(r) is None],
        lambda work: None,
    )
    return executor


def test_what_others_start_from_is_trained_first_and_once(tmp_path):
    executor = worked(executor_in(tmp_path), [*TUNED, BASE])
    assert executor.trained == 4
    ended = executor.result(BASE)["measures"]["sum"]
    for run in TUNED:
        assert executor.result(run)["measures"]["started"] == pytest.approx(ended, rel=1e-6)
    again = worked(executor_in(tmp_path), [*TUNED, BASE])
    assert again.trained == 0


def test_its_parameters_lie_beside_its_result(tmp_path):
    executor = worked(executor_in(tmp_path), [BASE, *TUNED])
    kept = read_tensors(executor.store.get(executor.identity(BASE)).weights)
    assert {name: x.shape for name, x in kept.items()} == {"weight": (1, 3), "bias": (1,)}
    total = executor.result(BASE)["measures"]["sum"]
    assert float(kept["weight"].sum()) == pytest.approx(total, rel=1e-6)
    assert executor.store.get(executor.identity(TUNED[0])).weights is None


def test_what_starts_from_it_is_stored_under_its_key(tmp_path):
    executor = executor_in(tmp_path)
    longer = Run(Tuned(of=Base(recipe=Base().recipe.but(epochs=3))), 0)
    identities = [executor.identity(run) for run in (TUNED[0], longer)]
    assert identities[0]["starts_from"] == executor.key(BASE)
    assert identities[1]["starts_from"] == executor.key(longer.arm.starts_from)
    assert executor.key(BASE) != executor.key(longer.arm.starts_from)
    assert "starts_from" not in executor.identity(BASE)


def test_a_claim_that_asks_for_the_one_asks_for_the_other(tmp_path):
    executor, asked = executor_in(tmp_path), set()
    trials = Trials(executor, PROFILES["ci"].within(2), asked)
    tuned = trials(Tuned())
    with pytest.raises(RunsMissing) as stopped:
        trials.values(tuned.arm, 2)
    assert set(stopped.value.runs) == asked == {BASE, *(Run(Tuned(), s) for s in (1, 2))}
    worked(executor, stopped.value.runs)
    assert len(trials.values(tuned.arm, 2)) == 2


def test_damaged_parameters_are_noticed_and_trained_again(tmp_path):
    reports = []
    executor = worked(executor_in(tmp_path), [BASE])
    key = executor.key(BASE)
    file = tmp_path / "runs" / key[:2] / key / "weights.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    healed = worked(executor_in(tmp_path, report=reports.append), [BASE, *TUNED])
    assert healed.trained == 4
    assert len(reports) == 1
    assert file.read_bytes() == whole
    file.unlink()
    assert executor_in(tmp_path, report=reports.append).result(BASE) is None


def test_what_starts_from_a_failure_fails_with_its_reason(tmp_path, monkeypatch):
    def broken(self, arm, device):
        raise OSError("no numbers today")

    monkeypatch.setattr(Experiment, "load", broken)
    executor = worked(executor_in(tmp_path), [*TUNED, BASE])
    with pytest.raises(TrainingFailed, match=r"without what it starts from: .*no numbers today"):
        executor.result(TUNED[0])


def test_what_starts_from_a_diverged_run_says_so(tmp_path):
    wild = Tuned(of=Base(recipe=Base().recipe.but(lr=1e30)))
    runs = [Run(wild, 1), wild.starts_from]
    executor = worked(executor_in(tmp_path), runs)
    assert "diverged_at" in executor.result(runs[1])
    with pytest.raises(TrainingFailed, match=r"Base, seed 7, which this starts from, diverged"):
        executor.result(runs[0])


def test_unfinished_work_is_resumed_to_the_same_bytes(tmp_path):
    plain = worked(executor_in(tmp_path / "plain"), [BASE, *TUNED])
    half = executor_in(tmp_path / "half")
    worked(half, [BASE])
    rest = worked(executor_in(tmp_path / "half"), [BASE, *TUNED])
    assert rest.trained == 3
    for run in (BASE, *TUNED):
        key = plain.key(run)
        for name in ("result.json", "identity.json"):
            first, second = (
                (tmp_path / which / "runs" / key[:2] / key / name).read_text()
                for which in ("plain", "half")
            )
            assert json.loads(first) == json.loads(second)
