"""The depth ladder as the core sees it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from repro.arm import Run
from repro.studies.depth_ladder.arms import LadderArm
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.reference import ReferenceLadder
from repro.studies.depth_ladder.stacked import StackedLadder


class DepthLadder:
    """ResMLP on CIFAR-10 under three credit rules."""

    monitor = None

    def load(self, arm: LadderArm, device: torch.device) -> LadderData:
        return LadderData(arm, device)

    def reference(self, run: Run, data: LadderData, device: torch.device) -> ReferenceLadder:
        return ReferenceLadder(run, data, device)

    def stacked(self, runs: Sequence[Run], data: LadderData, device: torch.device) -> StackedLadder:
        return StackedLadder(runs, data, device)


STUDY = DepthLadder()
