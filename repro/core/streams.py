"""Random streams of a run, derived from its seed by name.

A stream depends only on the seed and its name: not on earlier draws, on other runs, or on the
device. So runs may be batched, interrupted and resumed in any way. Two arms with the same seed
share their initialisation and data order, which makes them a pair.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def stream_seed(seed: int, name: str) -> int:
    """Return the seed of a run's named stream, below 2**64; a black box may be without torch.

    >>> stream_seed(42, "order/0") == stream(42, "order/0").initial_seed()
    True
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def stream(seed: int, name: str) -> torch.Generator:
    """Return a new generator for a run's named stream.

    >>> torch.randperm(4, generator=stream(42, "order/0"))
    """
    import torch

    return torch.Generator(device="cpu").manual_seed(stream_seed(seed, name))


def normal(seed: int, name: str, shape: tuple[int, ...], *, std: float) -> torch.Tensor:
    """Draw a tensor of independent N(0, std) values from a named stream."""
    import torch

    return torch.randn(shape, generator=stream(seed, name)).mul_(std)
