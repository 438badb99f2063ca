"""Parameter sharing as the core sees it."""

from __future__ import annotations

import torch

from repro.arm import Run
from repro.core.weights import Parameters
from repro.studies.parameter_sharing.arms import SharingArm
from repro.studies.parameter_sharing.data import SharingData
from repro.studies.parameter_sharing.reference import SharingModel


class ParameterSharing:
    """The study of source 002."""

    monitor = None

    def load(self, arm: SharingArm, device: torch.device) -> SharingData:
        return SharingData(arm, None, device)

    def load_from(
        self, arm: SharingArm, parameters: Parameters, device: torch.device
    ) -> SharingData:
        return SharingData(arm, parameters, device)

    def reference(self, run: Run, data: SharingData, device: torch.device) -> SharingModel:
        return SharingModel(run, data, device)


STUDY = ParameterSharing()
