"""Many runs of early exit as one: the plain network under vmap over runs.

Shapes: R runs, B windows, T characters, L layers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from repro.arm import Run
from repro.core.models import StackOfModels
from repro.studies.early_exit.arms import ExitArm
from repro.studies.early_exit.data import ExitData
from repro.studies.early_exit.model import EarlyExitTransformer
from repro.studies.early_exit.reference import ExitModel


class StackedExit(StackOfModels[ExitModel]):
    """R runs of one width and depth; their layer weights may differ."""

    def __init__(self, runs: Sequence[Run[ExitArm]], data: ExitData, device: torch.device) -> None:
        super().__init__([ExitModel(run, data, device) for run in runs])
        arms = [model.arm for model in self.models]
        self.weights = torch.tensor(
            [[arm.weights_in(epoch) for epoch in range(arm.recipe.epochs)] for arm in arms]
        ).to(device)  # [R, epochs, L]
        self.losses = vmap(_Losses(self.models[0].module).of)

    def lr_scales(self, name: str) -> Sequence[float]:
        return [model.lr_scales().get(name, 1.0) for model in self.models]

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        self.weights = self.weights[list(rows)]

    def gradients(self, x: Tensor, y: Tensor, epochs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        weights = self.weights.take_along_dim(epochs[:, :1, None], 1)[:, 0]  # [R, L]
        leaves = {name: p.detach().requires_grad_() for name, p in self.parameters.items()}
        # CUDA's attention kernels do not take slices of a stack, and are not deterministic
        attention = sdpa_kernel(SDPBackend.MATH) if x.is_cuda else nullcontext()
        with torch.enable_grad(), warnings.catch_warnings(), attention:
            # attention has no batching rule, so it is called run by run; it is a small part
            warnings.filterwarnings("ignore", "There is a performance drop", UserWarning)
            losses = (self.losses(leaves, x, y) * weights).sum(1)  # [R, L] -> [R]
            gradients = torch.autograd.grad(losses.sum(), list(leaves.values()))
        return losses.detach(), dict(zip(leaves, gradients, strict=True))


class _Losses(nn.Module):
    """The loss of each layer of one network, as a function of its parameters."""

    def __init__(self, network: EarlyExitTransformer) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, y: Tensor) -> Tensor:  # [B, T], [B, T] -> [L]
        layers = self.network.forward_all_layers(x)
        return torch.stack([F.cross_entropy(z.flatten(0, 1), y.flatten()) for z in layers])

    def of(self, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        named = {f"network.{name}": p for name, p in parameters.items()}
        losses: Tensor = functional_call(self, named, (x, y))
        return losses
