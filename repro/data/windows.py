"""Cuts a long text into windows side by side."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.integer)


def windows(text: NDArray[Kind], *, length: int) -> NDArray[Kind]:
    """Return windows [windows, length + 1], each with the next token; the rest is left out.

    >>> windows(np.arange(6), length=2).tolist()
    [[0, 1, 2], [2, 3, 4]]
    """
    rows: NDArray[Kind] = np.lib.stride_tricks.sliding_window_view(text, length + 1)[::length]
    return rows
