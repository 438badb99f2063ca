"""The networks of source 001 before the first step."""

from __future__ import annotations

import torch

from repro.core.study import Measures
from repro.studies.context_vector.data import ContextData
from repro.studies.context_vector.evaluation import spread
from repro.studies.context_vector.reference import ReferenceContext
from repro.studies.context_vector.variants import AtTheStart

FIRST = "layers.0.weight"


class StartData(ContextData):
    """The measured sequences; all would need gigabytes at the documented size."""

    def __init__(self, arm: AtTheStart, device: torch.device) -> None:
        few = {"sequences": arm.looked_at, "validation_sequences": arm.looked_at}
        super().__init__(arm.but(**few), device)
        self.arm = arm


class StartModel(ReferenceContext):
    """One untrained network."""

    arm: AtTheStart

    def measure(self) -> Measures:
        sequences = self.data.train[: self.arm.looked_at]
        x, y = sequences[:, :-1], sequences[:, 1:]
        with torch.enable_grad():
            loss, _ = self.loss(x, y, None)
            (gradient,) = torch.autograd.grad(loss, [dict(self.module.named_parameters())[FIRST]])
        count = sum(p.numel() for p in self.module.parameters())
        return {
            "parameters": count,
            "parameters_a_sequence": count / self.arm.sequences,
            "sequences": self.data.available,
            "first_layer_gradient_norm": float(gradient.norm()),
            "logit_spread": float(spread(self.module(x)[0][None], y)),
        }


class Start:
    """The study of untrained networks."""

    monitor = None
    load, reference = StartData, StartModel


STUDY = Start()
