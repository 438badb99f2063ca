"""The initial parameters of a run, each from its own random stream, for both forms."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from repro.core.streams import normal
from repro.studies.context_vector.arms import ContextArm

GATES = ("delta", "forget", "admit")
"""The layers of the context's update: the new part, the share of the old, the share of the new."""


def parameters(arm: ContextArm, seed: int) -> dict[str, Tensor]:
    """Draw every parameter of a run, from the input to the output."""

    def linear(name: str, rows: int, columns: int, std: float) -> dict[str, Tensor]:
        weight = normal(seed, f"initial/{name}", (rows, columns), std=std)
        return {f"{name}.weight": weight, f"{name}.bias": torch.zeros(rows)}

    shape = (arm.vocabulary, arm.embedding)
    tensors = {
        "embedding.weight": normal(seed, "initial/embedding", shape, std=arm.embedding_std),
    }
    for layer in range(arm.layers):
        reads = arm.width if layer else arm.embedding + arm.context
        he = math.sqrt(2 / reads)
        std = he if arm.initialisation == "he" else arm.weight_std
        tensors |= linear(f"layers.{layer}", arm.width, reads, std)
    tensors |= linear("head", arm.vocabulary, arm.width, arm.weight_std)
    for gate in GATES:
        tensors |= linear(gate, arm.context, arm.width, arm.weight_std)
    return tensors | {"norm.weight": torch.ones(arm.context), "norm.bias": torch.zeros(arm.context)}
