"""The study of source 001 for the core."""

from repro.studies.context_vector.data import ContextData
from repro.studies.context_vector.reference import ReferenceContext
from repro.studies.context_vector.stacked import StackedContext


class ContextVectors:
    """A language model that passes a context vector from word to word."""

    monitor = "validation_loss"
    load, reference, stacked = ContextData, ReferenceContext, StackedContext


STUDY = ContextVectors()
