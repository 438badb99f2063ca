"""The data order of trainings whose epochs are not passes over the data."""

from __future__ import annotations

import torch

from repro.core.streams import stream


def shuffled_passes(seed: int, *, lines: int, first: int, size: int) -> torch.Tensor:
    """Return `size` lines from a sequence of shuffled passes, starting at the index `first`.

    >>> shuffled_passes(42, lines=3, first=0, size=6).sort().values.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    passes = range(first // lines, (first + size - 1) // lines + 1)
    orders = [torch.randperm(lines, generator=stream(seed, f"order/{n}")) for n in passes]
    return torch.cat(orders)[first - passes[0] * lines :][:size]
