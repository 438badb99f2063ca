"""The initial parameters of a run, each from its own random stream, for both forms.

The source does not give its initialisation, only its effect (the identity check). The simplest
design with this effect: all weights N(0, 0.02), all biases 0, layer-normalised blocks of GELU
units.
"""

from __future__ import annotations

import torch
from torch import Tensor

from repro.core.streams import normal
from repro.studies.depth_ladder.arms import LadderArm

CLASSES = 10


def parameters(arm: LadderArm, seed: int) -> dict[str, Tensor]:
    """Draw every parameter of a run, from the input to the output."""
    d, m = arm.width, arm.expansion * arm.width

    def linear(name: str, rows: int, columns: int, std: float) -> dict[str, Tensor]:
        weight = normal(seed, f"initial/{name}", (rows, columns), std=std)
        return {f"{name}.weight": weight, f"{name}.bias": torch.zeros(rows)}

    tensors = linear("embed", d, arm.inputs, arm.embedding_std)
    for block in range(arm.depth):
        tensors |= linear(f"blocks.{block}.up", m, d, arm.weight_std)
        tensors |= linear(f"blocks.{block}.down", d, m, arm.weight_std)
    tensors |= {"norm.weight": torch.ones(d), "norm.bias": torch.zeros(d)}
    return tensors | linear("head", CLASSES, d, arm.weight_std)


def feedback(arm: LadderArm, seed: int) -> dict[str, Tensor]:
    """Draw the fixed random matrices that carry credit backward; BP has none.

    FA has one for each forward matrix of a block, with its shape and spread, or one for each block.
    DFA has one from the output error to each point of the residual stream. For one per block, and
    for DFA, the spread hardly matters, since the normalisation of the credit removes it.
    """
    d, m = arm.width, arm.expansion * arm.width
    matrices = {}
    if arm.rule == "fa" and arm.feedback == "blocks":
        for block in range(arm.depth):
            key = f"blocks.{block}"
            matrices[key] = normal(seed, f"feedback/{key}", (d, d), std=d**-0.5)
    if arm.rule == "fa" and arm.feedback == "weights":
        for block in range(arm.depth):
            for name, shape in (("up", (m, d)), ("down", (d, m))):
                key = f"blocks.{block}.{name}"
                matrices[key] = normal(seed, f"feedback/{key}", shape, std=arm.weight_std)
    if arm.rule == "dfa":
        for point in range(arm.depth + 1):
            matrices[f"{point}"] = normal(seed, f"feedback/{point}", (d, CLASSES), std=1.0)
    return matrices


def is_trained(arm: LadderArm, name: str) -> bool:
    """Return True if an arm trains the parameter of this name."""
    if name.startswith("blocks."):
        return int(name.split(".")[1]) >= arm.depth - arm.trained
    return not name.startswith("embed.") or arm.embedding == "trained"
