"""One network of the ladder as plain PyTorch, with the credit rules of the source.

Each trained block minimises its own surrogate loss, <f(stopgrad h), credit>, so that no credit
leaks from one block into another. The rules differ only in the origin of the credit.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.arm import Run
from repro.core.models import ReferenceBase
from repro.core.study import Measures
from repro.studies.depth_ladder import initial
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.depth_ladder.data import LadderData

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
        self.head = nn.Linear(arm.width, initial.CLASSES)

    def readout(self, h: Tensor) -> Tensor:
        logits: Tensor = self.head(self.norm(h))
        return logits

    def forward(self, x: Tensor) -> Tensor:  # [B, P] -> [B, 10]
        h = self.embed(x)
        for block in self.blocks:
            h = h + block(h)
        return self.readout(h)


class ReferenceLadder(ReferenceBase):
    """One run: the network, its credit rule and its measures."""

    def __init__(self, run: Run[LadderArm], data: LadderData, device: torch.device) -> None:
        self.arm, self.data = run.arm, data
        self.module = ResMLP(self.arm)
        self.module.load_state_dict(initial.parameters(self.arm, run.seed))
        self.module.to(device)
        for name, parameter in self.module.named_parameters():
            parameter.requires_grad_(initial.is_trained(self.arm, name))
        self.feedback = {
            name: b.to(device) for name, b in initial.feedback(self.arm, run.seed).items()
        }

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self.arm.rule == "bp":
            loss = F.cross_entropy(self.module(x), y)
            return loss, loss
        h = self._states(x)
        loss = F.cross_entropy(self.module.readout(h[-1].detach()), y)
        credits = self.credits(h, y)
        objective = loss
        if self.arm.embedding == "trained":
            objective = objective + self._surrogate(h[0], credits[0])
        for index in range(self.arm.depth - self.arm.trained, self.arm.depth):
            block_output = self.module.blocks[index](h[index].detach())
            objective = objective + self._surrogate(block_output, credits[index + 1])
        return objective, loss

    def _states(self, x: Tensor) -> list[Tensor]:
        """Return the residual stream h_0 … h_L, each [B, d]."""
        h = [self.module.embed(x)]
        for block in self.module.blocks:
            h.append(h[-1] + block(h[-1]))
        return h

    def _surrogate(self, output: Tensor, credit: Tensor) -> Tensor:
        if self.arm.credit == "normalised":
            rms = credit.square().mean(-1, keepdim=True).sqrt()
            credit = credit / (rms + CREDIT_EPSILON)
        return (output * credit).sum(-1).mean()

    def credits(self, h: list[Tensor], y: Tensor) -> list[Tensor]:
        """Return the credit of FA or DFA at each point of the residual stream, each [B, d]."""
        if self.arm.rule == "dfa":
            with torch.no_grad():
                error = self.module.readout(h[-1]).softmax(-1) - F.one_hot(y, initial.CLASSES)
                return [error @ self.feedback[f"{point}"].T for point in range(len(h))]
        top = h[-1].detach().requires_grad_()
        loss = F.cross_entropy(self.module.readout(top), y, reduction="sum")
        credits = list(torch.autograd.grad(loss, top))
        for index in reversed(range(self.arm.depth)):
            credits.insert(0, self._passed_down(credits[0], h[index].detach(), index))
        return credits

    def _passed_down(self, credit: Tensor, h: Tensor, index: int) -> Tensor:
        """Return the credit below a block, given the credit above it."""
        name = f"blocks.{index}"
        if self.arm.feedback == "blocks":
            return credit @ self.feedback[name]
        h.requires_grad_()
        up, down = self.feedback[f"{name}.up"], self.feedback[f"{name}.down"]
        block = self.module.blocks[index]
        assert isinstance(block, Block)
        output = block.with_feedback(h, up, down)
        return credit + torch.autograd.grad(output, h, credit)[0]

    def measure(self) -> Measures:
        logits = self.module(self.data.test_inputs)
        right = int((logits.argmax(-1) == self.data.test_labels).sum())
        measures: Measures = {"accuracy": right / len(self.data.test_labels)}
        x, y = self.data.test_inputs[:PROBE], self.data.test_labels[:PROBE]
        h = self._states(x)
        ratios = [float((b - a).norm() / a.norm()) for a, b in pairwise(h)]
        measures["block_ratio"] = ratios
        measures["stack_ratio"] = float((h[-1] - h[0]).norm() / h[0].norm())
        measures["stack_cosine"] = float(
            F.cosine_similarity(h[-1].flatten(), h[0].flatten(), dim=0)
        )
        with torch.enable_grad():
            true = self._true_gradients(x, y)
            credits = true if self.arm.rule == "bp" else self.credits(h, y)
        measures["alignment"] = [
            float(F.cosine_similarity(a, b, dim=-1).mean())
            for a, b in zip(credits, true, strict=True)
        ]
        return measures

    def _true_gradients(self, x: Tensor, y: Tensor) -> list[Tensor]:
        h = [self.module.embed(x).detach().requires_grad_()]
        for block in self.module.blocks:
            h.append(h[-1] + block(h[-1]))
        loss = F.cross_entropy(self.module.readout(h[-1]), y, reduction="sum")
        return list(torch.autograd.grad(loss, h))
