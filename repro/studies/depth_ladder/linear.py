"""The study of linear classifiers of the ladder's inputs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.arm import Run
from repro.core.models import ReferenceBase
from repro.core.streams import normal
from repro.core.study import Measures
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.initial import CLASSES
from repro.studies.depth_ladder.variants import LinearArm


class LinearModel(ReferenceBase):
    """One linear classifier."""

    def __init__(self, run: Run[LinearArm], data: LadderData, device: torch.device) -> None:
        arm, self.data = run.arm, data
        self.module = nn.Linear(arm.ladder.inputs, CLASSES)
        with torch.no_grad():
            shape = (CLASSES, arm.ladder.inputs)
            self.module.weight.copy_(normal(run.seed, "initial/linear", shape, std=arm.weight_std))
            self.module.bias.zero_()
        self.module.to(device)

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        loss = F.cross_entropy(self.module(x), y)
        return loss, loss

    def measure(self) -> Measures:
        right = self.module(self.data.test_inputs).argmax(-1) == self.data.test_labels
        return {"accuracy": float(right.double().mean())}


class LinearClassifiers:
    """Linear classifiers of CIFAR-10's pixels."""

    monitor = None
    reference = LinearModel

    def load(self, arm: LinearArm, device: torch.device) -> LadderData:
        return LadderData(arm.ladder, device)


STUDY = LinearClassifiers()
