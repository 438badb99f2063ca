"""Dropout as a function of a sequence's key and the place in the network.

So both forms of the model drop the same units, with any other runs and on any device; torch's own
dropout depends on the order and the device of its calls. The function is SplitMix64 (Steele, Lea
and Flood 2014). Each output decides four places, by sixteen bits each.
"""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = 1 << 16
PLACES_A_DRAW = 4

_GOLDEN, _FIRST, _SECOND = (
    x - (1 << 64) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def kept(keys: Tensor, *, share: float, steps: int, units: int) -> Tensor:
    """Return the factors of units, zero or above 1: [..., B] keys to [..., steps, B, units].

    `share` of the units (rounded to a 65536th) is dropped; the others grow to keep the mean.

    >>> kept(torch.tensor([7]), share=0.5, steps=1, units=4).shape
    torch.Size([1, 1, 4])
    """
    draws = -(-units // PLACES_A_DRAW)
    counter = torch.arange(1, steps * draws + 1, device=keys.device).view(steps, 1, draws)
    bits = _mixed(keys[..., None, :, None] + counter * _GOLDEN)
    places = bits.view(torch.int16)[..., :units]
    return (places >= round(share * LEVELS) - LEVELS // 2) * growth(share)


def growth(share: float) -> float:
    """Return the factor of the units that are kept.

    >>> growth(0.5)
    2.0
    """
    return LEVELS / (LEVELS - round(share * LEVELS))


def _mixed(x: Tensor) -> Tensor:
    """Finalise like SplitMix64; shifts of signed numbers copy the sign, so they are masked."""
    x = (x ^ ((x >> 30) & ((1 << 34) - 1))) * _FIRST
    x = (x ^ ((x >> 27) & ((1 << 37) - 1))) * _SECOND
    return x ^ ((x >> 31) & ((1 << 33) - 1))
