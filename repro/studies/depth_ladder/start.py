"""The study of the ladder's initial networks: how the norm of the stream changes."""

from __future__ import annotations

from repro.core.study import Measures
from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.reference import PROBE, ReferenceLadder


class StartReference(ReferenceLadder):
    """One network; it measures the norm of its stream above the blocks, divided by that below."""

    def measure(self) -> Measures:
        h = self._states(self.data.test_inputs[:PROBE])
        return {**super().measure(), "norm_ratio": float(h[-1].norm() / h[0].norm())}


class LadderStart:
    """A ResMLP on CIFAR-10 at its initialisation."""

    monitor = None
    load, reference = LadderData, StartReference


STUDY = LadderStart()
