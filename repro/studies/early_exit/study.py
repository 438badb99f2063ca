"""Early exit as the core sees it: training by weighted losses, evaluation by hard routing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.streams import normal
from repro.core.study import Measures, StackedModel
from repro.studies.early_exit.arms import FULL_DEPTH, ExitArm
from repro.studies.early_exit.data import ExitData
from repro.studies.early_exit.model import EarlyExitTransformer
from repro.studies.early_exit.routing import routed

EMBEDDING_STD = 0.02


class ExitModel:
    """One run."""

    def __init__(self, run: Run, data: ExitData, device: torch.device) -> None:
        assert isinstance(run.arm, ExitArm)
        self.arm, self.data = run.arm, data
        self.module = EarlyExitTransformer(
            alphabet=data.alphabet,
            width=self.arm.width,
            heads=self.arm.heads,
            hidden=self.arm.hidden,
            layers=self.arm.layers,
        )
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                if parameter.ndim == 2:  # the others are the norms' scales, which start at 1
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
        losses = [
            weight * F.cross_entropy(logits.flatten(0, 1), y.flatten())
            for weight, logits in zip(weights, self.module.forward_all_layers(x), strict=True)
            if weight
        ]
        total = torch.stack(losses).sum()
        return total, total

    def measure(self) -> Measures:
        x, y = self.data.validation[..., :-1], self.data.validation[..., 1:].flatten()
        outputs = [self.module.forward_all_layers(batch) for batch in x]
        layers = [torch.cat(parts).flatten(0, 1) for parts in zip(*outputs, strict=True)]  # [N, V]
        found = routed(
            layers[self.arm.exit_layer - 1], layers[-1], threshold=self.arm.routing_threshold
        )
        deep_losses = F.cross_entropy(layers[-1], y, reduction="none")
        exited = found.exits.float().mean()
        blocks = exited * self.arm.exit_layer + (1 - exited) * self.arm.layers
        measures: Measures = {
            "perplexity": float(F.cross_entropy(found.logits, y).exp()),
            "accuracy": float((found.logits.argmax(-1) == y).float().mean()),
            "compute": float(blocks) / FULL_DEPTH,
            "layer_perplexity": [float(F.cross_entropy(logits, y).exp()) for logits in layers],
        }
        groups = [deep_losses[found.exits], deep_losses[~found.exits]]
        if all(len(group) for group in groups):  # else there is nothing to tell apart
            measures["loss_of_leaving_and_staying"] = [float(group.mean()) for group in groups]
        return measures


class EarlyExit:
    """The study of source 000."""

    monitor = "perplexity"

    def load(self, arm: ExitArm, device: torch.device) -> ExitData:
        return ExitData(arm, device)

    def reference(self, run: Run, data: ExitData, device: torch.device) -> ExitModel:
        return ExitModel(run, data, device)

    def stacked(self, runs: Sequence[Run], data: ExitData, device: torch.device) -> StackedModel:
        raise NotImplementedError("Early exit has no stacked form: its products fill a core alone.")


STUDY = EarlyExit()
