"""The study of source 002 for the core."""

from __future__ import annotations

import torch

from repro.studies.parameter_sharing.arms import SharingArm
from repro.studies.parameter_sharing.data import SharingData
from repro.studies.parameter_sharing.reference import SharingModel


class ParameterSharing:
    """Language models whose layers share parameters."""

    monitor = None
    load_from, reference = SharingData, SharingModel

    def load(self, arm: SharingArm, device: torch.device) -> SharingData:
        return SharingData(arm, None, device)


STUDY = ParameterSharing()
