"""Low-rank adapters: a fixed linear layer with a small trained one beside it."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def freeze(module: nn.Module) -> None:
    """Turn the parameters of a module into plain tensors.

    So they are neither trained nor written into checkpoints.
    """
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            delattr(part, name)
            setattr(part, name, parameter.detach())


class Adapted(nn.Module):
    """A linear layer plus `alpha` times a product of two small matrices; the second starts at zero.

    >>> Adapted(nn.Linear(8, 4), rank=2, alpha=8.0).merged()
    Linear(in_features=8, out_features=4, bias=True)
    """

    def __init__(self, linear: nn.Linear, *, rank: int, alpha: float) -> None:
        super().__init__()
        self.linear, self.alpha = linear, alpha
        device = linear.weight.device
        self.a = nn.Parameter(torch.zeros(linear.in_features, rank, device=device))
        self.b = nn.Parameter(torch.zeros(rank, linear.out_features, device=device))

    def forward(self, x: Tensor) -> Tensor:
        plain = self.linear(x)
        low = x.flatten(0, -2) @ self.a  # [places, rank]
        adapted = torch.addmm(plain.flatten(0, -2), low, self.b, alpha=self.alpha)
        return adapted.view(plain.shape)

    def merged(self) -> nn.Linear:
        """Return one plain layer with the same output."""
        old = self.linear
        plain = nn.Linear(old.in_features, old.out_features, device=old.weight.device)
        with torch.no_grad():
            plain.weight.copy_(old.weight + self.alpha * (self.a @ self.b).T)
            plain.bias.copy_(old.bias)
        return plain


def adapt(module: nn.Module, *, rank: int, alpha: float, within: str = "") -> None:
    """Put an adapter beside every linear layer of a module, or of its parts named `within`."""
    for name, child in list(module.named_children()):
        inside = "" if name == within else within
        if not isinstance(child, nn.Linear):
            adapt(child, rank=rank, alpha=alpha, within=inside)
        elif not inside:
            setattr(module, name, Adapted(child, rank=rank, alpha=alpha))


def merge(module: nn.Module) -> None:
    """Merge every adapter of a module into its linear layer."""
    for name, child in list(module.named_children()):
        if isinstance(child, Adapted):
            setattr(module, name, child.merged())
        else:
            merge(child)
