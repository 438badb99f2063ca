"""Layers of many runs at once, forward and backward, for models that do without autograd.

Shapes: R runs, n rows of a run, i inputs, o outputs, d width.
"""

from __future__ import annotations

import torch
from torch import Tensor

NORM_EPSILON = 1e-5

Normalised = tuple[Tensor, Tensor, Tensor]
"""Normalised values [..., d], means [..., 1] and reciprocal standard deviations [..., 1]."""


def norm(x: Tensor) -> Normalised:
    """Normalise the last axis of x, without parameters."""
    return torch.native_layer_norm(x, [x.shape[-1]], None, None, NORM_EPSILON)


def norm_backward(d_z: Tensor, x: Tensor, normalised: Normalised) -> Tensor:
    """Return the gradient in x from the gradient in the normalised values."""
    _, mean, rstd = normalised
    d_x: Tensor = torch.ops.aten.native_layer_norm_backward(
        d_z, x, [x.shape[-1]], mean, rstd, None, None, [True, False, False]
    )[0]
    return d_x


def product(a: Tensor, b: Tensor) -> Tensor:
    """Multiply, with a float32 result: under autocast only products have low precision."""
    return (a @ b).float()


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Apply each run's linear layer: [R, n, i], [R, o, i], [R, o] -> [R, n, o]."""
    return torch.baddbmm(bias[:, None], x, weight.transpose(1, 2)).float()


def linear_gradients(name: str, d_out: Tensor, x: Tensor) -> dict[str, Tensor]:
    """Return the gradients of a linear layer's parameters from that in its outputs."""
    return {f"{name}.weight": product(d_out.transpose(1, 2), x), f"{name}.bias": d_out.sum(1)}
