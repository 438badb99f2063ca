"""Layer normalisation without parameters, forward and backward, for models without autograd."""

from __future__ import annotations

import torch
from torch import Tensor

NORM_EPSILON = 1e-5

Normalised = tuple[Tensor, Tensor, Tensor]
"""Normalised values [..., d], means [..., 1] and reciprocal standard deviations [..., 1]."""


def norm(x: Tensor) -> Normalised:
    """Normalise the last axis of x."""
    return torch.native_layer_norm(x, [x.shape[-1]], None, None, NORM_EPSILON)


def norm_backward(d_z: Tensor, x: Tensor, normalised: Normalised) -> Tensor:
    """Return the gradient in x from the gradient in the normalised values."""
    _, mean, rstd = normalised
    d_x: Tensor = torch.ops.aten.native_layer_norm_backward(
        d_z, x, [x.shape[-1]], mean, rstd, None, None, [True, False, False]
    )[0]
    return d_x
