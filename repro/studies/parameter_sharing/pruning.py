"""Pruning during training: sets the smallest weights of each matrix to zero."""

from __future__ import annotations

import torch
from torch import nn


@torch.no_grad()
def prune(layers: nn.Module, *, share: float) -> None:
    """Set a share of the numbers of every matrix, the smallest ones, to zero.

    >>> prune(linear := nn.Linear(4, 2), share=0.5); int((linear.weight == 0).sum())
    4
    """
    for parameter in layers.parameters():
        gone = int(share * parameter.numel())
        if parameter.ndim == 2 and gone:
            flat = parameter.view(-1)
            flat[flat.abs().argsort()[:gone]] = 0.0
