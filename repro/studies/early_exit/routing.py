"""Hard routing of each token to an exit, only in evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Routed:
    """The answer of each token, and its depth."""

    logits: Tensor  # [..., V]
    depths: Tensor  # [...], the layer that answered, counted from 1


def routed(layers: Sequence[Tensor], sureness: Mapping[int, Tensor], *, threshold: float) -> Routed:
    """Return each token's answer at the first confident exit, or else at the last layer.

    `layers` are the logits [..., V] of each layer, and `sureness` [...] the confidence of each
    exit. A threshold of 0 means no routing. Upper layers still compute every token: as in the
    source, savings are counted and not timed. `generate` really stops.

    >>> deep, shallow = torch.zeros(2, 2), torch.tensor([[9.0, 0.0], [0.1, 0.0]])
    >>> routed([shallow, deep], {1: torch.tensor([0.99, 0.52])}, threshold=0.95).depths
    tensor([1, 2])
    """
    logits = layers[-1]
    depths = torch.full(logits.shape[:-1], len(layers), device=logits.device)
    if threshold > 0:
        for depth, sure in sorted(sureness.items(), reverse=True):
            leaves = sure >= threshold
            logits = torch.where(leaves[..., None], layers[depth - 1], logits)
            depths = torch.where(leaves, depth, depths)
    return Routed(logits, depths)
