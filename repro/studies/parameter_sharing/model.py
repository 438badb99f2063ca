"""A transformer whose layers share a few sets of parameters.

A shared set is one module: it has one storage, one gradient and one optimiser state.

Shapes: B texts, T tokens, d width, H heads, V vocabulary, C compressed places.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.studies.parameter_sharing.arms import SharingArm

DONE = 0.99
"""A place is done when the shares of its states sum to this; the last state gets the rest."""


class Attention(nn.Module):
    """Attention, in any variant of an arm."""

    def __init__(self, arm: SharingArm) -> None:
        super().__init__()
        self.head, self.causal, heads = arm.head, arm.kind == "decoder", arm.width // arm.head
        self.is_grouped = arm.key_heads is not None
        if arm.key_heads is not None and heads % arm.key_heads:
            raise ValueError(
                f"key_heads={arm.key_heads} must divide the {heads} heads into equal groups."
            )
        stored = arm.head * (arm.key_heads or heads)
        self.sizes = (arm.width, stored, stored)
        self.query_key_value = nn.Linear(arm.width, sum(self.sizes), bias=arm.biases)
        self.out = nn.Linear(arm.width, arm.width, bias=arm.biases)
        self.mix = None
        if arm.compressed is not None:
            if self.causal:
                raise ValueError(
                    "compressed mixes what stands before a place with what comes after it: it is"
                    " for encoders."
                )
            self.mix = nn.Linear(arm.context, arm.compressed, bias=False)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> same
        q, k, v = map(self._heads, self.query_key_value(x).split(self.sizes, dim=-1))
        if self.mix is not None:
            weights = self.mix.weight[:, : x.shape[1]]  # [C, T]
            k, v = weights @ k, weights @ v  # [B, H, C, d/H]
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=self.causal, enable_gqa=self.is_grouped
        )
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(x.shape))
        return out

    def _heads(self, x: Tensor) -> Tensor:  # [B, T, h d/H] -> [B, h, T, d/H]
        return x.view(*x.shape[:2], -1, self.head).transpose(1, 2)


class Layer(nn.Module):
    """One set of parameters: attention and a feed-forward layer, pre-norm."""

    def __init__(self, arm: SharingArm) -> None:
        super().__init__()
        width, biases = arm.width, arm.biases
        self.norm_attention = nn.LayerNorm(width, bias=biases)
        self.attention = Attention(arm)
        self.norm_feed_forward = nn.LayerNorm(width, bias=biases)
        self.up = nn.Linear(width, 4 * width, bias=biases)
        self.down = nn.Linear(4 * width, width, bias=biases)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> same
        x = x + self.attention(self.norm_attention(x))
        out: Tensor = x + self.down(F.gelu(self.up(self.norm_feed_forward(x))))
        return out


class Halting(nn.Module):
    """Mixes the states of a place by its predicted chances to be done after each layer.

    Each place repeats a layer until it is done (Graves 2016; Dehghani et al. 2018).
    """

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


class SharingTransformer(nn.Module):
    """A language model; a decoder predicts next tokens, an encoder predicts masked tokens.

    >>> SharingTransformer(BASELINE, vocabulary=50)(torch.zeros(1, 4).long()).shape
    torch.Size([1, 4, 50])
    """

    def __init__(self, arm: SharingArm, *, vocabulary: int) -> None:
        super().__init__()
        self.order = arm.order
        self.tokens = nn.Embedding(vocabulary, arm.width)
        self.positions = nn.Embedding(arm.context, arm.width)
        self.sets = nn.ModuleList(Layer(arm) for _ in range(max(self.order) + 1))
        self.norm = nn.LayerNorm(arm.width, bias=arm.biases)
        self.halting = Halting(arm.width) if arm.halting else None

    def forward(self, tokens: Tensor) -> Tensor:
        """Turn tokens [B, T] into logits [B, T, V], by the tied embedding."""
        return self.with_cost(tokens)[0]

    def with_cost(self, tokens: Tensor, at: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return logits, and the number of layers of each place, [B, T] or one number for all.

        With places `at`, the logits are only for these: [places, V].
        """
        h = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        layers = [self.sets[index] for index in self.order]
        cost = h.new_tensor(float(len(layers)))
        if self.halting is not None:
            h, cost = self.halting(h, layers)
        else:
            for layer in layers:
                h = layer(h)
        if at is not None:
            h = h[at]
        return F.linear(self.norm(h), self.tokens.weight), cost


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
