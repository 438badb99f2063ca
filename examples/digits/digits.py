"""A CNN with batch normalisation on scikit-learn's digits, trained by SGD and one-cycle."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

from repro import Metric, ModuleArm, ModuleStudy, Recipe

PIXELS, DIGITS = (torch.tensor(x) for x in load_digits(return_X_y=True))
IMAGES = PIXELS.float().view(-1, 1, 8, 8) / 16


@dataclass(frozen=True, kw_only=True)
class Digits(ModuleArm):
    study: ClassVar[str] = "digits"
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=797)}
    norm: bool = True
    data: str = "scikit-learn's digits"
    examples: int = 1000
    recipe: Recipe = Recipe(epochs=6, batch=50, lr=0.2)


def block(arm, size, to):
    norm = nn.BatchNorm2d(to) if arm.norm else nn.Identity()
    return nn.Sequential(nn.Conv2d(size, to, 3, padding=1), norm, nn.ReLU(), nn.MaxPool2d(2))


def accuracy(module, arm):
    device = next(module.parameters()).device  # a GPU, where there is one
    right = module(IMAGES[1000:].to(device)).argmax(1) == DIGITS[1000:].to(device)
    return {"accuracy": right.float().mean()}


STUDY = ModuleStudy(
    module=lambda arm: nn.Sequential(
        block(arm, 1, 8), block(arm, 8, 16), nn.Flatten(), nn.Linear(64, 10)
    ),
    examples=lambda arm: (IMAGES[:1000], DIGITS[:1000]),
    loss=lambda module, arm, x, y: F.cross_entropy(module(x), y),
    measure=accuracy,
    optimiser=lambda parameters, arm: torch.optim.SGD(parameters, arm.recipe.lr, momentum=0.9),
    schedule=lambda optimiser, arm, steps: torch.optim.lr_scheduler.OneCycleLR(
        optimiser, arm.recipe.lr, total_steps=steps
    ),
)
