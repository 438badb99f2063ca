"""The study of source 000 as the core sees it."""

from repro.studies.early_exit.data import ExitData
from repro.studies.early_exit.reference import ExitModel
from repro.studies.early_exit.stacked import StackedExit


class EarlyExit:
    """A transformer whose layers can all predict, so that tokens leave early."""

    monitor = "perplexity"
    load, reference, stacked = ExitData, ExitModel, StackedExit


STUDY = EarlyExit()
