"""Runs that start from what another run ended with."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from repro.arm import Arm, Metric, Run
from repro.core.streams import normal, stream
from repro.data.safetensors import read_tensors
from repro.evidence.file import EvidenceFile
from repro.evidence.pack import add, pack
from repro.plugin.trials import Trials
from repro.recipe import Recipe
from repro.runs.profiles import PROFILES
from repro.runs.results import RunsMissing
from tests.local_work import LocalWork


@dataclass(frozen=True, kw_only=True)
class Base(Arm):
    study: ClassVar[str] = "test_backends_starts"
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


def test_what_others_start_from_is_trained_first_and_once_and_kept(tmp_path):
    LocalWork(tmp_path).train([BASE])
    done = LocalWork(tmp_path).train([*TUNED, BASE])
    assert done.training.trained == 3
    ended = done.values(BASE)["measures"]["sum"]
    kept = read_tensors(done.store.get(done.results.identity(BASE)).weights)
    assert {name: x.shape for name, x in kept.items()} == {"weight": (1, 3), "bias": (1,)}
    assert float(kept["weight"].sum()) == pytest.approx(ended, rel=1e-6)
    together = LocalWork(tmp_path / "together").train([*TUNED, BASE])
    assert together.training.trained == 4
    for run in TUNED:
        assert done.values(run) == together.values(run)
        assert done.values(run)["measures"]["started"] == pytest.approx(ended, rel=1e-6)
        assert done.store.get(done.results.identity(run)).weights is None
    again = LocalWork(tmp_path).train([*TUNED, BASE])
    assert again.training.trained == 0


def test_a_claim_that_asks_for_the_one_asks_for_the_other(tmp_path):
    done, asked = LocalWork(tmp_path), {}
    trials = Trials(done.results, PROFILES["ci"].within(2), asked)
    tuned = trials(Tuned())
    with pytest.raises(RunsMissing) as stopped:
        trials.values(tuned._arm, 2)
    assert set(stopped.value.runs) == set(asked) == {BASE, *(Run(Tuned(), s) for s in (1, 2))}
    done.train(stopped.value.runs)
    assert len(trials.values(tuned._arm, 2)) == 2


def test_evidence_of_them_counts_when_what_they_start_from_comes_to_the_same(tmp_path):
    there = LocalWork(tmp_path / "there").train([*TUNED, BASE])
    file = tmp_path / "evidence.jsonl.gz"
    of = {"profile": "ci", "claims": ["900/starts"], "results": there.results}
    assert len(pack(file, TUNED, **of).lines) == 3
    here = LocalWork(tmp_path / "here")
    assert add(EvidenceFile.read(file), here.store).added == 3
    assert here.train([*TUNED, BASE]).training.trained == 1


def test_what_starts_from_a_diverged_run_says_so(tmp_path):
    wild = Tuned(of=Base(recipe=Base().recipe.but(lr=1e30)))
    runs = [Run(wild, 1), wild.starts_from]
    done = LocalWork(tmp_path).train(runs)
    assert "diverged_at" in done.values(runs[1])
    assert "Base, seed 7, which this starts from, diverged" in str(done.results.failed(runs[0]))
