"""The study of ladders in which each layer minimises its own loss, with true gradients as credit.

The rule is that of FA, with the network's own weights instead of random matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from repro.arm import Run
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.reference import ReferenceLadder
from repro.studies.depth_ladder.stacked import BlockTrace, StackedLadder
from repro.studies.depth_ladder.variants import LocalArm


class LocalReference(ReferenceLadder):
    """One run: credit passes down through each block by autograd."""

    def __init__(self, run: Run[LocalArm], data: LadderData, device: torch.device) -> None:
        super().__init__(run, data, device)
        self.arm = self.arm.but(rule="fa")

    def _passed_down(self, credit: Tensor, h: Tensor, index: int) -> Tensor:
        h.requires_grad_()
        output = self.module.blocks[index](h)
        return credit + torch.autograd.grad(output, h, credit)[0]


class StackedLocal(StackedLadder):
    """R runs of one width and depth: credit passes down through the current weights."""

    def __init__(
        self, runs: Sequence[Run[LocalArm]], data: LadderData, device: torch.device
    ) -> None:
        super().__init__(runs, data, device)
        self.arm = self.arm.but(rule="fa", feedback="weights")  # the feedback is its own weights

    def _passed_down(self, credit: Tensor, trace: BlockTrace, index: int) -> Tensor:
        for name in (f"blocks.{index}.up", f"blocks.{index}.down"):
            self.feedback[name] = self.parameters[f"{name}.weight"]
        return super()._passed_down(credit, trace, index)


class LocalLadder:
    """A ResMLP on CIFAR-10 by back-propagation with local losses."""

    monitor = None
    load, reference, stacked = LadderData, LocalReference, StackedLocal


STUDY = LocalLadder()
