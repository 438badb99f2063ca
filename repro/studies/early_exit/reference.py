"""One run of early exit, trained by weighted losses and evaluated by hard routing."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.streams import normal
from repro.core.study import Measures
from repro.studies.early_exit.arms import FULL_DEPTH, ExitArm
from repro.studies.early_exit.data import ExitData
from repro.studies.early_exit.model import EarlyExitTransformer
from repro.studies.early_exit.routing import routed

EMBEDDING_STD = 0.02


class ExitModel:
    """One run of early exit."""

    def __init__(self, run: Run[ExitArm], data: ExitData, device: torch.device) -> None:
        self.arm, self.data = run.arm, data
        self.module = EarlyExitTransformer(
            alphabet=data.alphabet,
            width=self.arm.width,
            heads=self.arm.heads,
            hidden=self.arm.hidden,
            layers=self.arm.layers,
            learns_confidence=self.arm.confidence == "learned",
        )
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                if name.startswith("confidence."):
                    parameter.zero_()  # a probability of one half
                elif parameter.ndim == 2:  # the others are the norms' scales, which start at 1
                    std = EMBEDDING_STD if name == "embedding.weight" else self.arm.width**-0.5
                    shape = tuple(parameter.shape)
                    parameter.copy_(normal(run.seed, f"initial/{name}", shape, std=std))
        self.module.to(device)

    def lr_scales(self) -> Mapping[str, float]:
        if self.arm.layer_lr_scales is None:
            return {}
        return {
            name: self.arm.layer_lr_scales[int(name.split(".")[1])]
            for name, _ in self.module.named_parameters()
            if name.startswith("blocks.")
        }

    def loss(self, x: Tensor, y: Tensor, epochs: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.arm.weights_in(int(epochs[0]))
        states = self.module.states(x)
        losses = [
            weight * F.cross_entropy(self.module.head(h).flatten(0, 1), y.flatten())
            for weight, h in zip(weights, states, strict=True)
            if weight
        ]
        total = torch.stack(losses).sum()
        if self.arm.confidence == "learned":
            return total + self._loss_of_confidence(states, y), total
        return total, total

    def _loss_of_confidence(self, states: list[Tensor], y: Tensor) -> Tensor:
        """Return the loss of the exits' learned confidence."""
        losses = []
        for exit_layer in self.arm.exits:
            h = states[exit_layer - 1]
            right = (self.module.head(h).argmax(-1) == y).float()
            losses.append(F.binary_cross_entropy_with_logits(self.module.right_answer(h), right))
        return torch.stack(losses).mean()

    def measure(self) -> Measures:
        x, y = self.data.validation[..., :-1], self.data.validation[..., 1:].flatten()
        outputs = [self.module.states(batch) for batch in x]
        states = [torch.cat(parts).flatten(0, 1) for parts in zip(*outputs, strict=True)]  # [N, d]
        layers = [self.module.head(h) for h in states]  # each [N, V]
        sureness = {n: self.module.sureness(states[n - 1], layers[n - 1]) for n in self.arm.exits}
        answers = routed(layers, sureness, threshold=self.arm.routing_threshold)
        measures: Measures = {
            "perplexity": float(F.cross_entropy(answers.logits, y).exp()),
            "accuracy": float((answers.logits.argmax(-1) == y).float().mean()),
            "compute": float(answers.depths.float().mean()) / FULL_DEPTH,
            "layer_perplexity": [float(F.cross_entropy(logits, y).exp()) for logits in layers],
        }
        first, sure = self.arm.exits[0], sureness[self.arm.exits[0]]
        surest_half = {first: (sure.argsort().argsort() >= len(y) // 2).float()}
        halved = routed(layers, surest_half, threshold=1)
        measures["perplexity_with_half_leaving"] = float(F.cross_entropy(halved.logits, y).exp())
        losses, leaves = (
            F.cross_entropy(layers[-1], y, reduction="none"),
            answers.depths < len(layers),
        )
        if leaves.any() and not leaves.all():  # else there are not two groups
            groups = [losses[leaves], losses[~leaves]]
            measures["loss_of_leaving_and_staying"] = [float(group.mean()) for group in groups]
        return measures
