"""The usual initial parameters of transformers, each from its own random stream."""

from __future__ import annotations

import torch
from torch import nn

from repro.core.streams import normal

GPT2_STD = 0.02


@torch.no_grad()
def as_gpt2(module: nn.Module, seed: int, *, layers: int) -> None:
    """Initialise a module like GPT-2: small normal weights, zero biases, and norms with scale 1.

    The weights of layers that add to the residual, named `out` or `down`, are smaller still.
    """
    for name, parameter in module.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith(("out.weight", "down.weight"))
            std = GPT2_STD / (2 * layers) ** 0.5 if adds else GPT2_STD
            parameter.copy_(normal(seed, f"initial/{name}", tuple(parameter.shape), std=std))
        elif name.endswith("bias"):
            parameter.zero_()
