"""Context vectors as the core sees them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from repro.arm import Run
from repro.studies.context_vector.arms import ContextArm
from repro.studies.context_vector.data import ContextData
from repro.studies.context_vector.reference import ReferenceContext
from repro.studies.context_vector.stacked import StackedContext


class ContextVectors:
    """The study of source 001."""

    monitor = "validation_loss"

    def load(self, arm: ContextArm, device: torch.device) -> ContextData:
        return ContextData(arm, device)

    def reference(self, run: Run, data: ContextData, device: torch.device) -> ReferenceContext:
        return ReferenceContext(run, data, device)

    def stacked(
        self, runs: Sequence[Run], data: ContextData, device: torch.device
    ) -> StackedContext:
        return StackedContext(runs, data, device)


STUDY = ContextVectors()
