"""The initial parameters of networks, each from its own random stream."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from repro.core.streams import normal, stream
from repro.studies.finetuning.lora import Adapted


@torch.no_grad()
def as_torch(module: nn.Module, seed: int, *, within: str) -> None:
    """Initialise layers like PyTorch does by default; the source calls this random weights.

    Only parameters whose names begin with `within` are initialised; others are loaded later.
    """
    for name, part in module.named_modules():
        if not name.startswith(within):
            continue
        if isinstance(part, nn.Embedding):
            shape = tuple(part.weight.shape)
            part.weight.copy_(normal(seed, f"initial/{name}", shape, std=1.0))
        elif isinstance(part, nn.Linear):
            for kind, parameter in part.named_parameters():
                bound = part.in_features**-0.5
                parameter.copy_(_uniform(seed, f"initial/{name}.{kind}", parameter, bound))


@torch.no_grad()
def adapters(module: nn.Module, seed: int, kind: str) -> None:
    """Draw the first matrices of adapters; the second ones stay zero, so the start is unchanged.

    PyTorch's Kaiming bound uses the number of columns as inputs; here this number is the rank.
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
