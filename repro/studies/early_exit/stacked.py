"""Many runs of early exit as one: the plain network, mapped over a run axis.

Shapes: R runs, B windows, T characters, L layers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, vmap

from repro.arm import Run
from repro.core.study import Measures
from repro.studies.early_exit.data import ExitData
from repro.studies.early_exit.model import EarlyExitTransformer
from repro.studies.early_exit.reference import ExitModel


class StackedExit:
    """R runs of one width and depth; which layers are trained to answer may differ."""

    def __init__(self, runs: Sequence[Run], data: ExitData, device: torch.device) -> None:
        self.models = [ExitModel(run, data, device) for run in runs]
        modules = [dict(model.module.named_parameters()) for model in self.models]
        self.parameters = {
            name: torch.stack([module[name].detach() for module in modules]) for name in modules[0]
        }
        arms = [model.arm for model in self.models]
        self.weights = torch.tensor(
            [[arm.weights_in(epoch) for epoch in range(arm.recipe.epochs)] for arm in arms]
        ).to(device)  # [R, epochs, L]
        self.losses = vmap(_Losses(self.models[0].module).of)

    def trained_rows(self, name: str) -> Sequence[bool]:
        return [True] * len(self.models)

    def lr_scales(self, name: str) -> Sequence[float]:
        return [model.lr_scales().get(name, 1.0) for model in self.models]

    def keep(self, rows: Sequence[int]) -> None:
        self.models = [self.models[row] for row in rows]
        self.parameters = {name: p[list(rows)] for name, p in self.parameters.items()}
        self.weights = self.weights[list(rows)]

    def gradients(self, x: Tensor, y: Tensor, epochs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        weights = self.weights.take_along_dim(epochs[:, :1, None], 1)[:, 0]  # [R, L]
        leaves = {name: p.detach().requires_grad_() for name, p in self.parameters.items()}
        with torch.enable_grad(), warnings.catch_warnings():
            # attention has no batching rule and is called run by run: it is a small part
            warnings.filterwarnings("ignore", "There is a performance drop", UserWarning)
            losses = (self.losses(leaves, x, y) * weights).sum(1)  # [R, L] -> [R]
            gradients = torch.autograd.grad(losses.sum(), list(leaves.values()))
        return losses.detach(), dict(zip(leaves, gradients, strict=True))

    def measure(self) -> list[Measures]:
        measured = []
        for row, model in enumerate(self.models):
            model.module.load_state_dict({name: p[row] for name, p in self.parameters.items()})
            measured.append(model.measure())
        return measured


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
