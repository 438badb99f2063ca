"""The study of source 004 for the core."""

from repro.studies.depth_ladder.data import LadderData
from repro.studies.depth_ladder.reference import ReferenceLadder
from repro.studies.depth_ladder.stacked import StackedLadder


class DepthLadder:
    """A ResMLP on CIFAR-10 under three credit rules."""

    monitor = None
    load, reference, stacked = LadderData, ReferenceLadder, StackedLadder


STUDY = DepthLadder()
