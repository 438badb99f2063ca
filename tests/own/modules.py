"""Ordinary PyTorch modules as somebody else would write them, and studies of them."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from repro.arm import Metric, Run
from repro.backends import trainer
from repro.own.arm import ModuleArm
from repro.own.module import ModuleStudy
from repro.own.training_run import Files
from repro.recipe import Recipe
from repro.runs.pool import Trained


@dataclass(frozen=True, kw_only=True)
class Small(ModuleArm):
    study: ClassVar[str] = "tests.own.modules"
    metrics: ClassVar[dict[str, Metric]] = {"error": Metric("log")}
    kind: str = "perceptron"
    data: str = "planes"
    examples: int = 40
    recipe: Recipe = Recipe(epochs=3, batch=8, lr=1e-2, weight_decay=0.01, clip=1.0)


class Tied(nn.Module):
    """Two layers that share their weights, called by name from the loss."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.tensor(0.5))

    def features(self, x):
        return self.second(F.gelu(self.first(x))) * self.scale


class HalfFrozen(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 5), nn.LayerNorm(5), nn.ReLU(), nn.Linear(5, 6))
        self[0].weight.requires_grad_(False)


class RandomFeatures(nn.Module):
    """Draws a buffer of its own at every initialisation."""

    def __init__(self):
        super().__init__()
        self.register_buffer("directions", torch.randn(6, 6))
        self.last = nn.Linear(6, 6)

    def forward(self, x):
        return self.last(torch.tanh(x @ self.directions))


class Noisy(nn.Module):
    """Draws in the ways that noise is added to what a layer gets."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 6)

    def forward(self, x):
        noise = torch.randn_like(x) + torch.rand(6) + torch.randn(x.shape) + torch.rand_like(x)
        return self.last(x + noise + torch.empty_like(x).normal_() * torch.empty_like(x).uniform_())


class Counting(nn.Module):
    """Keeps a mean in a buffer that it replaces, and a count in one that it changes."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 6)
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
            self.steps += 1
        return self.last(x - self.mean) + 0.01 * self.steps


def attention(dropout):
    layer = nn.TransformerEncoderLayer(2, 1, 4, dropout=dropout, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (3, 2)), layer, nn.Flatten())


def network(*layers, rows=1):
    return nn.Sequential(nn.Unflatten(1, (rows, FEATURES // rows)), *layers)


KINDS = {
    "perceptron": lambda: nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 6)),
    "convolution": lambda: network(
        nn.Conv1d(2, 4, 2, groups=2, bias=False),
        nn.BatchNorm1d(4),
        nn.ReLU(inplace=True),
        nn.ConvTranspose1d(4, 3, 2),
        nn.Dropout1d(0.3),
        nn.Flatten(),
        nn.Linear(9, 6),
        rows=2,
    ),
    "attention": lambda: attention(0.2),
    "attention without dropout": lambda: attention(0.0),
    "tied": Tied,
    "half frozen": HalfFrozen,
    "dropout": lambda: nn.Sequential(
        nn.Dropout(0.1), nn.Linear(6, 7), nn.Dropout(0.5), nn.AlphaDropout(0.1), nn.Linear(7, 6)
    ),
    "batch norm": lambda: nn.Sequential(
        nn.Linear(6, 7, bias=False), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 6)
    ),
    "without running statistics": lambda: nn.Sequential(
        nn.Linear(6, 7, bias=False), nn.BatchNorm1d(7, track_running_stats=False), nn.Linear(7, 6)
    ),
    "instance norm": lambda: network(
        nn.InstanceNorm1d(2, track_running_stats=True), nn.Flatten(), nn.Linear(6, 6), rows=2
    ),
    "random features": RandomFeatures,
    "noise": Noisy,
    "counting": Counting,
}
FEATURES = 6
"""The numbers of an example."""


def numbers(count, seed):
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(seed))


def loss(module, arm, x, y):
    answers = module.features(x) if isinstance(module, Tied) else module(x)
    return F.mse_loss(answers, y)


def examples(arm):
    x = numbers(arm.examples, 0)
    return x, x.roll(1, dims=1).abs()


def measure(module, arm):
    x = numbers(25, 1).to(next(module.parameters()).device)
    return {"error": loss(module, arm, x, x.roll(1, dims=1).abs())}


def study(**changed):
    given = {"module": lambda arm: KINDS[arm.kind](), "examples": examples, "loss": loss}
    return ModuleStudy(**{**given, "measure": measure, **changed})


def engine_and_why(own, arm, monkeypatch):
    """The engine of an arm that is to be stacked, and why it is not, by its run's provenance."""
    monkeypatch.setattr(trainer, "study_of", lambda arm: own)
    events = trainer.train_batch([Run(arm, 1)], engine="stacked", device="cpu", files=Files())
    (done,) = [event for event in events if isinstance(event, Trained)]
    return done.provenance["engine"], done.provenance.get("not_stacked", "")


STUDY = study()
