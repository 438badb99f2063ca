"""The study of source 000: training by weighted losses, evaluation by hard routing.

Shapes: R runs, B windows, T characters, L layers, N validated characters, V alphabet.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from repro.arm import Run
from repro.core.models import StackOfModels
from repro.core.streams import normal
from repro.core.study import Measures
from repro.data.characters import batches, load_characters
from repro.studies.early_exit.arms import FULL_DEPTH, LENGTH, VALIDATION_BATCH, ExitArm
from repro.studies.early_exit.model import EarlyExitTransformer

EMBEDDING_STD = 0.02


class ExitData:
    """Adjacent windows of 64 characters, in the same order in every epoch.

    The targets are the same windows, one character later.
    """

    def __init__(self, arm: ExitArm, device: torch.device) -> None:
        text = load_characters(arm.data, training=arm.characters)
        self.alphabet = len(text.alphabet)
        train, validation = (
            torch.from_numpy(batches(part, length=LENGTH, batch=batch).astype("int64")).to(device)
            for part, batch in ((text.train, arm.recipe.batch), (text.validation, VALIDATION_BATCH))
        )
        self.train = train.flatten(0, 1)  # [N, 65]
        self.validation = validation  # [batches, 32, 65]

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [N, 2]: a window, in the order of the text, and the epoch for dynamic weights."""
        windows = torch.arange(len(self.train))
        return torch.stack([windows, torch.full_like(windows, number)], dim=1)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines [R, B, 2] into characters [R, B, 64], next characters, and epochs [R, B]."""
        windows = self.train[lines[..., 0]]
        return windows[..., :-1], windows[..., 1:], lines[..., 1]


@dataclass(frozen=True)
class Routed:
    """The answer of each token, and its depth."""

    logits: Tensor  # [..., V]
    depths: Tensor  # [...], the layer that answered, counted from 1


def routed(layers: Sequence[Tensor], sureness: Mapping[int, Tensor], *, threshold: float) -> Routed:
    """Return each token's answer at the first confident exit, or else at the last layer.

    `layers` are the logits [..., V] of each layer, and `sureness` [...] the confidence of each
    exit. A threshold of 0 means no routing. Upper layers still compute every token: as in the
    source, savings are counted and not timed.

    >>> deep, shallow = torch.zeros(2, 2), torch.tensor([[9.0, 0.0], [0.1, 0.0]])
    >>> routed([shallow, deep], {1: torch.tensor([0.99, 0.52])}, threshold=0.95).depths
    tensor([1, 2])
    """
    logits = layers[-1]
    depths = torch.full(logits.shape[:-1], len(layers), device=logits.device)
    if threshold > 0:
        for depth, sure in sorted(sureness.items(), reverse=True):
            leaves = sure >= threshold
            logits = torch.where(leaves[..., None], layers[depth - 1], logits)
            depths = torch.where(leaves, depth, depths)
    return Routed(logits, depths)


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


class StackedExit(StackOfModels[ExitModel]):
    """R runs of one width and depth under vmap; their layer weights may differ."""

    def __init__(self, runs: Sequence[Run[ExitArm]], data: ExitData, device: torch.device) -> None:
        super().__init__([ExitModel(run, data, device) for run in runs])
        arms = [model.arm for model in self.models]
        self.weights = torch.tensor(
            [[arm.weights_in(epoch) for epoch in range(arm.recipe.epochs)] for arm in arms]
        ).to(device)  # [R, epochs, L]
        self.losses = vmap(self._losses)

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

    def _losses(self, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        """Return the loss of each layer of one network: [B, T], [B, T] -> [L]."""
        layers = functional_call(self.models[0].module, parameters, (x,))
        return torch.stack([F.cross_entropy(z.flatten(0, 1), y.flatten()) for z in layers])


class EarlyExit:
    """A transformer in which every layer can predict, so tokens can exit early."""

    monitor = "perplexity"
    load, reference, stacked = ExitData, ExitModel, StackedExit


STUDY = EarlyExit()
