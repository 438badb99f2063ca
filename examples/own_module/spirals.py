"""A study of two spirals that an ordinary PyTorch module separates."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from repro import Metric, ModuleArm, ModuleStudy, Recipe


@dataclass(frozen=True, kw_only=True)
class Spirals(ModuleArm):
    study: ClassVar[str] = "spirals"  # this module: it holds STUDY
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=1000)}

    width: int = 32
    dropout: float = 0.0
    data: str = "two spirals"
    examples: int = 500
    recipe: Recipe = Recipe(epochs=40, batch=50, lr=1e-2)


def network(arm):
    return nn.Sequential(
        nn.Linear(2, arm.width),
        nn.Tanh(),
        nn.Dropout(arm.dropout) if arm.dropout else nn.Identity(),
        nn.Linear(arm.width, arm.width),
        nn.Tanh(),
        nn.Linear(arm.width, 2),
    )


def spirals(count, seed):
    generator = torch.Generator().manual_seed(seed)
    turn = torch.rand(count, generator=generator)  # [N]
    classes = torch.randint(2, (count,), generator=generator)  # [N]
    angle = 2 * torch.pi * turn + torch.pi * classes
    points = turn[:, None] * torch.stack([angle.cos(), angle.sin()], dim=1)  # [N, 2]
    return points + 0.02 * torch.randn(count, 2, generator=generator), classes


def accuracy(module, arm):
    device = next(module.parameters()).device  # a GPU, where there is one
    points, classes = (x.to(device) for x in spirals(1000, seed=1))
    return {"accuracy": (module(points).argmax(1) == classes).float().mean()}


STUDY = ModuleStudy(
    module=network,
    examples=lambda arm: spirals(arm.examples, seed=0),
    loss=lambda module, arm, points, classes: F.cross_entropy(module(points), classes),
    measure=accuracy,
)
