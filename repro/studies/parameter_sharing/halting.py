"""Adaptive computation: each place repeats a layer until it is done (Graves; Dehghani et al.).

Shapes: B texts, T tokens, d width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

DONE = 0.99
"""A place is done when the shares of its states sum to this; the last state gets the rest."""


class Halting(nn.Module):
    """Mixes the states of a place by its predicted chances to be done after each layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.likely = nn.Linear(width, 1)

    def forward(self, h: Tensor, layers: list[nn.Module]) -> tuple[Tensor, Tensor]:
        """Return the mixture [B, T, d], and the number of layers of each place [B, T]."""
        spent = h.new_zeros(h.shape[:-1])  # [B, T], what the shares add up to so far
        mixture = torch.zeros_like(h)
        cost = torch.zeros_like(spent)
        for number, layer in enumerate(layers, 1):
            h = layer(h)
            share = self.likely(h).squeeze(-1).sigmoid()
            runs = (spent < DONE).to(h.dtype)
            ends = ((spent + share >= DONE) | (number == len(layers))).to(h.dtype)
            share = runs * (ends * (1 - spent) + (1 - ends) * share)
            mixture = mixture + share[..., None] * h
            cost = cost + runs + runs * ends * share  # layers, and what remained for the last
            spent = spent + share
        return mixture, cost
