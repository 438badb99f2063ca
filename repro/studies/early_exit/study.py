"""The study of source 000 for the core."""

from repro.studies.early_exit.data import ExitData
from repro.studies.early_exit.reference import ExitModel
from repro.studies.early_exit.stacked import StackedExit


class EarlyExit:
    """A transformer in which every layer can predict, so tokens can exit early."""

    monitor = "perplexity"
    load, reference, stacked = ExitData, ExitModel, StackedExit


STUDY = EarlyExit()
