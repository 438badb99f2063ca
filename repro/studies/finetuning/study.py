"""The study of source 003 for the core."""

from __future__ import annotations

import torch

from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.data import FinetuneData
from repro.studies.finetuning.reference import FinetuneModel
from repro.studies.finetuning.stacked import StackedFinetune
from repro.studies.finetuning.weights_file import load_weights


class Finetuning:
    """GPTs that are finetuned to tell spam from ham."""

    monitor = None
    load_from, reference, stacked = FinetuneData, FinetuneModel, StackedFinetune

    def load(self, arm: FinetuneArm, device: torch.device) -> FinetuneData:
        if arm.start == "random":
            return FinetuneData(arm, None, device)
        return FinetuneData(arm, load_weights(arm.size), device)


STUDY = Finetuning()
