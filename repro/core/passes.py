"""The order of lines in training whose epochs are not passes over the data."""

from __future__ import annotations

import torch

from repro.core.streams import stream


def shuffled_passes(seed: int, *, lines: int, first: int, size: int) -> torch.Tensor:
    """Return the next `size` lines of one shuffled pass after another, from the place `first` on.

    >>> shuffled_passes(42, lines=3, first=0, size=6).sort().values.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    passes = range(first // lines, (first + size - 1) // lines + 1)
    orders = [torch.randperm(lines, generator=stream(seed, f"order/{n}")) for n in passes]
    return torch.cat(orders)[first - passes[0] * lines :][:size]
