"""The residual MLP of source 004, and the initial parameters of a run.

The source does not give its initialisation, only its effect (the identity check). The simplest
design with this effect: all weights N(0, 0.02), all biases 0, layer-normalised blocks of GELU
units. Each parameter is drawn from its own random stream.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.core.streams import normal
from repro.core.study import Measures
from repro.studies.depth_ladder.arms import LadderArm

CLASSES = 10
CREDIT_EPSILON = 1e-8
PROBE = 512
"""Credit and the identity check are measured on this number of test images."""


class FeedbackLinear(torch.autograd.Function):
    """A linear layer whose backward pass uses another matrix."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, back: Tensor) -> Tensor:
        ctx.save_for_backward(back)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (back,) = ctx.saved_tensors
        return gradients[0] @ back, None, None, None


def _feedback_linear(x: Tensor, layer: nn.Linear, back: Tensor) -> Tensor:
    out: Tensor = FeedbackLinear.apply(x, layer.weight, layer.bias, back)  # type: ignore[no-untyped-call]
    return out


class Block(nn.Module):
    """A residual block's function, f(h) = W2 gelu(W1 norm(h)).

    The norm has no scale and shift, since W1 and its bias can express both.
    """

    def __init__(self, width: int, expansion: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, expansion * width)
        self.down = nn.Linear(expansion * width, width)

    def forward(self, h: Tensor) -> Tensor:  # [B, d] -> [B, d]
        out: Tensor = self.down(F.gelu(self.up(F.layer_norm(h, h.shape[-1:]))))
        return out

    def with_feedback(self, h: Tensor, up: Tensor, down: Tensor) -> Tensor:
        """Return the same output, but the gradient passes down through the given matrices."""
        z = F.layer_norm(h, h.shape[-1:])
        u = _feedback_linear(z, self.up, up)
        out: Tensor = _feedback_linear(F.gelu(u), self.down, down)
        return out


class ResMLP(nn.Module):
    """A network from pixels to ten classes through `depth` residual blocks."""

    def __init__(self, arm: LadderArm) -> None:
        super().__init__()
        self.embed = nn.Linear(arm.inputs, arm.width)
        self.blocks = nn.ModuleList(Block(arm.width, arm.expansion) for _ in range(arm.depth))
        self.norm = nn.LayerNorm(arm.width)
        self.head = nn.Linear(arm.width, CLASSES)

    def readout(self, h: Tensor) -> Tensor:
        logits: Tensor = self.head(self.norm(h))
        return logits

    def forward(self, x: Tensor) -> Tensor:  # [B, P] -> [B, 10]
        h = self.embed(x)
        for block in self.blocks:
            h = h + block(h)
        return self.readout(h)


def initial_parameters(arm: LadderArm, seed: int) -> dict[str, Tensor]:
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


def feedback_matrices(arm: LadderArm, seed: int) -> dict[str, Tensor]:
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
        return int(name.split(".")[1]) in arm.blocks
    return not name.startswith("embed.") or arm.embedding == "trained"


def of_stream(h: list[Tensor], credits: list[Tensor], true: list[Tensor]) -> Measures:
    """Return a run's measures at the points of its stream: the identity check, and the alignment.

    The points are h_0 … h_L; each has a rule's credit and the true gradient, all [P, d].
    """
    first, last = h[0], h[-1]
    return {
        "block_ratio": [float((b - a).norm() / a.norm()) for a, b in pairwise(h)],
        "stack_ratio": float((last - first).norm() / first.norm()),
        "stack_cosine": float(F.cosine_similarity(last.flatten(), first.flatten(), dim=0)),
        "alignment": [
            float(F.cosine_similarity(a, b, dim=-1).mean())
            for a, b in zip(credits, true, strict=True)
        ],
    }
