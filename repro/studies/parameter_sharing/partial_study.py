"""The study of models that share a part of some layers."""

from __future__ import annotations

from typing import cast

import torch
from torch import nn

from repro.arm import Run
from repro.studies.parameter_sharing.data import SharingData
from repro.studies.parameter_sharing.model import Layer
from repro.studies.parameter_sharing.partial import PartialArm
from repro.studies.parameter_sharing.reference import SharingModel


class PartialModel(SharingModel):
    """One run; the shared part is one module, that of the first sharing layer."""

    def __init__(self, run: Run[PartialArm], data: SharingData, device: torch.device) -> None:
        super().__init__(run, data, device)
        share(self.module.sets, run.arm)


def share(layers: nn.ModuleList, arm: PartialArm) -> None:
    """Put the part of the first sharing layer into the other sharing layers."""
    first, *others = arm.sharing
    for place in others:
        if arm.part == "block":
            layers[place] = layers[first]
            continue
        shared, layer = cast(Layer, layers[first]), cast(Layer, layers[place])
        layer.up, layer.down = shared.up, shared.down


class PartialSharing:
    """Language models that share a part of some layers."""

    monitor = None
    load_from, reference = SharingData, PartialModel

    def load(self, arm: PartialArm, device: torch.device) -> SharingData:
        return SharingData(arm, None, device)


STUDY = PartialSharing()
