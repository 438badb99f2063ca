"""The study of source 004: one network as plain PyTorch, with the credit rules of the source.

In FA and DFA each trained block minimises its own surrogate loss, <f(stopgrad h), credit>, so that
no credit leaks from one block into another; they differ in the origin of the credit. BP minimises
one loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.arm import Run
from repro.core.models import ReferenceBase
from repro.core.streams import normal
from repro.core.study import Measures
from repro.studies.depth_ladder.arms import LadderArm, LinearArm, LocalArm, StartArm
from repro.studies.depth_ladder.data import LadderData, loaded_once
from repro.studies.depth_ladder.model import (
    CLASSES,
    CREDIT_EPSILON,
    PROBE,
    Block,
    ResMLP,
    feedback_matrices,
    initial_parameters,
    is_trained,
    of_stream,
)
from repro.studies.depth_ladder.stacked import StackedLadder, StackedLocal


class ReferenceLadder(ReferenceBase):
    """One run: the network, its credit rule and its measures."""

    def __init__(self, run: Run[LadderArm], data: LadderData, device: torch.device) -> None:
        self.arm, self.data = run.arm, data
        self.module = ResMLP(self.arm)
        self.module.load_state_dict(initial_parameters(self.arm, run.seed))
        self.module.to(device)
        for name, parameter in self.module.named_parameters():
            parameter.requires_grad_(is_trained(self.arm, name))
        self.feedback = {
            name: b.to(device) for name, b in feedback_matrices(self.arm, run.seed).items()
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
        for index in self.arm.blocks:
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
                error = self.module.readout(h[-1]).softmax(-1) - F.one_hot(y, CLASSES)
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
        if isinstance(self.arm, StartArm):
            measures["norm_ratio"] = float(h[-1].norm() / h[0].norm())
        with torch.enable_grad():
            true = self._true_gradients(x, y)
            credits = true if self.arm.rule == "bp" else self.credits(h, y)
        return measures | of_stream(h, credits, true)

    def _true_gradients(self, x: Tensor, y: Tensor) -> list[Tensor]:
        h = [self.module.embed(x).detach().requires_grad_()]
        for block in self.module.blocks:
            h.append(h[-1] + block(h[-1]))
        loss = F.cross_entropy(self.module.readout(h[-1]), y, reduction="sum")
        return list(torch.autograd.grad(loss, h))


class LocalReference(ReferenceLadder):
    """One run with true gradients as credit, which pass down through each block by autograd."""

    def __init__(self, run: Run[LocalArm], data: LadderData, device: torch.device) -> None:
        super().__init__(run, data, device)
        self.arm = self.arm.but(rule="fa")  # its own weights instead of random matrices

    def _passed_down(self, credit: Tensor, h: Tensor, index: int) -> Tensor:
        h.requires_grad_()
        output = self.module.blocks[index](h)
        return credit + torch.autograd.grad(output, h, credit)[0]


class LinearModel(ReferenceBase):
    """One linear classifier."""

    def __init__(self, run: Run[LinearArm], data: LadderData, device: torch.device) -> None:
        arm, self.data = run.arm, data
        self.module = nn.Linear(arm.ladder.inputs, CLASSES)
        with torch.no_grad():
            shape = (CLASSES, arm.ladder.inputs)
            self.module.weight.copy_(normal(run.seed, "initial/linear", shape, std=arm.weight_std))
            self.module.bias.zero_()
        self.module.to(device)

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        loss = F.cross_entropy(self.module(x), y)
        return loss, loss

    def measure(self) -> Measures:
        right = self.module(self.data.test_inputs).argmax(-1) == self.data.test_labels
        return {"accuracy": float(right.double().mean())}


class DepthLadder:
    """A ResMLP on CIFAR-10 under three credit rules, and what it is compared with."""

    monitor = None

    def load(self, arm: LadderArm | LinearArm, device: torch.device) -> LadderData:
        return loaded_once(
            arm.data, pixels=arm.pixels, count=arm.images, shift=arm.shift, device=device
        )

    def reference(
        self, run: Run[Any], data: LadderData, device: torch.device
    ) -> ReferenceLadder | LinearModel:
        if isinstance(run.arm, LinearArm):
            return LinearModel(run, data, device)
        model = LocalReference if isinstance(run.arm, LocalArm) else ReferenceLadder
        return model(run, data, device)

    def stacked(
        self, runs: Sequence[Run[Any]], data: LadderData, device: torch.device
    ) -> StackedLadder:
        model = StackedLocal if isinstance(runs[0].arm, LocalArm) else StackedLadder
        return model(runs, data, device)


STUDY = DepthLadder()
