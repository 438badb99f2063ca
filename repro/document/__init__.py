"""Checks the printed numbers of a document for consistency, without training.

Printed numbers are rounded. So a check asks: are there numbers that round to the printed ones and
for which the sentence holds? If so, the document is consistent in this point, which is all that
`reproduced` says here. If not, it contradicts itself (`refuted`), without any experiment. The
arithmetic is exact.
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
from repro.document.words import Document

__all__ = [
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
