"""The study of ladders whose trained blocks are not the last blocks."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from repro.arm import Run
from repro.studies.depth_ladder import initial
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.reference import ReferenceLadder
from repro.studies.depth_ladder.stacked import StackedLadder
from repro.studies.depth_ladder.variants import PlacedArm


def is_trained(arm: PlacedArm, name: str) -> bool:
    """Return True if an arm trains the parameter of this name."""
    if name.startswith("blocks."):
        return int(name.split(".")[1]) in arm.blocks
    return initial.is_trained(arm, name)


class PlacedReference(ReferenceLadder):
    """One run like the ladder's, with other blocks frozen."""

    def __init__(self, run: Run[PlacedArm], data: LadderData, device: torch.device) -> None:
        super().__init__(run, data, device)
        for name, parameter in self.module.named_parameters():
            parameter.requires_grad_(is_trained(run.arm, name))
        # every block gets a surrogate loss; that of a frozen block has no gradient
        self.arm = run.arm.but(trained=run.arm.depth)


class StackedPlaced(StackedLadder):
    """R runs of one rule, width, depth and place."""

    arms: list[PlacedArm]  # type: ignore[assignment]

    def trained_rows(self, name: str) -> Sequence[bool]:
        return [is_trained(arm, name) for arm in self.arms]


class PlacedLadder:
    """A ResMLP on CIFAR-10 under three credit rules, trained at the input or in the middle."""

    monitor = None
    load, reference, stacked = LadderData, PlacedReference, StackedPlaced


STUDY = PlacedLadder()
