"""Finetuning as the core sees it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from repro.arm import Run
from repro.core.weights import Parameters
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.data import FinetuneData
from repro.studies.finetuning.reference import FinetuneModel
from repro.studies.finetuning.stacked import StackedFinetune
from repro.studies.finetuning.weights_file import load_weights


class Finetuning:
    """The study of source 003."""

    monitor = None

    def load(self, arm: FinetuneArm, device: torch.device) -> FinetuneData:
        if arm.start == "random":
            return FinetuneData(arm, None, device)
        return FinetuneData(arm, load_weights(arm.size), device)

    def load_from(
        self, arm: FinetuneArm, parameters: Parameters, device: torch.device
    ) -> FinetuneData:
        return FinetuneData(arm, parameters, device)

    def reference(self, run: Run, data: FinetuneData, device: torch.device) -> FinetuneModel:
        return FinetuneModel(run, data, device)

    def stacked(
        self, runs: Sequence[Run], data: FinetuneData, device: torch.device
    ) -> StackedFinetune:
        return StackedFinetune(runs, data, device)


STUDY = Finetuning()
