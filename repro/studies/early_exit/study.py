"""Early exit as the core sees it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from repro.arm import Run
from repro.studies.early_exit.arms import ExitArm
from repro.studies.early_exit.data import ExitData
from repro.studies.early_exit.reference import ExitModel
from repro.studies.early_exit.stacked import StackedExit


class EarlyExit:
    """The study of source 000."""

    monitor = "perplexity"

    def load(self, arm: ExitArm, device: torch.device) -> ExitData:
        return ExitData(arm, device)

    def reference(self, run: Run, data: ExitData, device: torch.device) -> ExitModel:
        return ExitModel(run, data, device)

    def stacked(self, runs: Sequence[Run], data: ExitData, device: torch.device) -> StackedExit:
        return StackedExit(runs, data, device)


STUDY = EarlyExit()
