"""Checks a document against itself, before anything trains.

Printed numbers are rounded, so a check asks one thing: are there numbers, each rounding to what is
printed, for which the sentence holds? If there are, the document is consistent in this point
(`reproduced`, which says no more than that); if not, it contradicts itself (`refuted`), and no
experiment is needed to see it. The arithmetic is exact.
"""

from repro.document.check import Check, agrees_with, grim
from repro.document.number import (
    Interval,
    Number,
    compute_share,
    exact,
    linear,
    percent_change,
    percent_drop,
    perplexity,
    points,
    printed,
    root,
)
from repro.document.words import ANY_PROFILE, Document

__all__ = [
    "ANY_PROFILE",
    "Check",
    "Document",
    "Interval",
    "Number",
    "agrees_with",
    "compute_share",
    "exact",
    "grim",
    "linear",
    "percent_change",
    "percent_drop",
    "perplexity",
    "points",
    "printed",
    "root",
]
