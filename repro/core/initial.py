"""How transformers are started by convention, one named stream a parameter."""

from __future__ import annotations

import torch
from torch import nn

from repro.core.streams import normal

GPT2_STD = 0.02


@torch.no_grad()
def as_gpt2(module: nn.Module, seed: int, *, layers: int) -> None:
    """As GPT-2 was started: small normal weights, smaller still where a layer adds to its input.

    Those are called `out` and `down` by whoever has them. Biases are zero; the norms' scales stay
    at 1.
    """
    for name, parameter in module.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith(("out.weight", "down.weight"))
            std = GPT2_STD / (2 * layers) ** 0.5 if adds else GPT2_STD
            parameter.copy_(normal(seed, f"initial/{name}", tuple(parameter.shape), std=std))
        elif name.endswith("bias"):
            parameter.zero_()
