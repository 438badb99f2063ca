"""The numbers that networks start from, one named stream each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from repro.core.streams import normal, stream
from repro.studies.finetuning.gpt import Gpt
from repro.studies.finetuning.lora import Adapted

GPT_STD = 0.02


@torch.no_grad()
def as_gpt2(gpt: Gpt, seed: int) -> None:
    """As GPT-2 was started: small normal weights, smaller still where a block adds to its input."""
    for name, parameter in gpt.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith(("out.weight", "down.weight"))
            std = GPT_STD / (2 * len(gpt.blocks)) ** 0.5 if adds else GPT_STD
            parameter.copy_(normal(seed, f"initial/{name}", tuple(parameter.shape), std=std))
        elif name.endswith("bias"):
            parameter.zero_()  # the others are the norms' scales, which start at 1


@torch.no_grad()
def as_torch(module: nn.Module, seed: int) -> None:
    """As PyTorch starts its layers by default, which is what the source calls random weights."""
    for name, part in module.named_modules():
        if isinstance(part, nn.Embedding):
            shape = tuple(part.weight.shape)
            part.weight.copy_(normal(seed, f"initial/{name}", shape, std=1.0))
        elif isinstance(part, nn.Linear):
            for kind, parameter in part.named_parameters():
                bound = part.in_features**-0.5
                parameter.copy_(_uniform(seed, f"initial/{name}.{kind}", parameter, bound))


@torch.no_grad()
def adapters(module: nn.Module, seed: int, kind: str) -> None:
    """The first matrices at random, the second ones zero, so that nothing is changed at first.

    PyTorch's Kaiming bound reads the columns of a matrix as its inputs; here these are its rank.
    """
    for name, part in module.named_modules():
        if isinstance(part, Adapted):
            rank = part.a.shape[1]
            if kind == "normal":
                shape = tuple(part.a.shape)
                part.a.copy_(normal(seed, f"initial/{name}.a", shape, std=rank**-0.5))
            else:
                part.a.copy_(_uniform(seed, f"initial/{name}.a", part.a, rank**-0.5))


def _uniform(seed: int, name: str, like: Tensor, bound: float) -> Tensor:
    return torch.empty(like.shape).uniform_(-bound, bound, generator=stream(seed, name))
