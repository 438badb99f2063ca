"""Random streams of a run, derived from its seed by name.

A stream depends only on the seed and its name: not on earlier draws, on other runs, or on the
device. So runs may be batched, interrupted and resumed in any way. Two arms with the same seed
share their initialisation and data order, which makes them a pair.
"""

from __future__ import annotations

import hashlib

import torch


def stream(seed: int, name: str) -> torch.Generator:
    """Return a new generator for a run's named stream.

    >>> torch.randperm(4, generator=stream(42, "order/0"))
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    generator = torch.Generator(device="cpu")
    generator.manual_seed(int.from_bytes(digest[:8], "little", signed=True))
    return generator


def normal(seed: int, name: str, shape: tuple[int, ...], *, std: float) -> torch.Tensor:
    """Draw a tensor of independent N(0, std) values from a named stream."""
    return torch.randn(shape, generator=stream(seed, name)).mul_(std)
