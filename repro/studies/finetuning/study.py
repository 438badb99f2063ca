"""The study of source 003 as the core sees it."""

from __future__ import annotations

import torch

from repro.core.weights import as_parameters
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.data import FinetuneData
from repro.studies.finetuning.public_weights import load_weights
from repro.studies.finetuning.reference import FinetuneModel
from repro.studies.finetuning.stacked import StackedFinetune


class Finetuning:
    """GPTs that are finetuned to tell spam from ham."""

    monitor = None
    load_from, reference, stacked = FinetuneData, FinetuneModel, StackedFinetune

    def load(self, arm: FinetuneArm, device: torch.device) -> FinetuneData:
        if arm.start == "random":
            return FinetuneData(arm, None, device)
        return FinetuneData(arm, as_parameters(load_weights(arm.size)), device)


STUDY = Finetuning()
