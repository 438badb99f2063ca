"""A transformer whose layers share a few sets of parameters.

A shared set is one module: it has one storage, one gradient and one optimiser state.

Shapes: B texts, T tokens, d width, H heads, V vocabulary, C compressed places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DONE = 0.99
"""A place is done when the shares of its states sum to this; the last state gets the rest."""


@dataclass(frozen=True)
class Shape:
    """The sizes and variants of a layer."""

    width: int
    heads: int
    hidden: int
    context: int
    """The largest number of tokens of a text."""

    causal: bool
    key_heads: int | None = None
    """The number of key and value heads, each for a group of query heads; None for no groups."""

    biases: bool = True
    compressed: int | None = None
    """Linformer: keys and values are mixed into this number of places."""

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width={self.width} cannot be shared out among {self.heads} heads.")
        if self.key_heads is not None and self.heads % self.key_heads:
            raise ValueError(
                f"key_heads={self.key_heads} must divide heads={self.heads} into equal groups."
            )
        if self.compressed is not None and self.causal:
            raise ValueError(
                "compressed mixes what stands before a place with what comes after it: it is for"
                " encoders, causal=False."
            )


class Attention(nn.Module):
    """Attention, in any variant of a shape."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        stored = shape.width // shape.heads * (shape.key_heads or shape.heads)
        self.sizes = (shape.width, stored, stored)
        self.query_key_value = nn.Linear(shape.width, sum(self.sizes), bias=shape.biases)
        self.out = nn.Linear(shape.width, shape.width, bias=shape.biases)
        self.mix = None
        if shape.compressed is not None:
            self.mix = nn.Linear(shape.context, shape.compressed, bias=False)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> same
        q, k, v = map(self._heads, self.query_key_value(x).split(self.sizes, dim=-1))
        if self.mix is not None:
            weights = self.mix.weight[:, : x.shape[1]]  # [C, T]
            k, v = weights @ k, weights @ v  # [B, H, C, d/H]
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=self.shape.causal, enable_gqa=self.shape.key_heads is not None
        )
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(x.shape))
        return out

    def _heads(self, x: Tensor) -> Tensor:  # [B, T, h d/H] -> [B, h, T, d/H]
        return x.view(*x.shape[:2], -1, self.shape.width // self.shape.heads).transpose(1, 2)


class Layer(nn.Module):
    """One set of parameters: attention and a feed-forward layer, pre-norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(shape.width, bias=shape.biases)
        self.attention = Attention(shape)
        self.norm_feed_forward = nn.LayerNorm(shape.width, bias=shape.biases)
        self.up = nn.Linear(shape.width, shape.hidden, bias=shape.biases)
        self.down = nn.Linear(shape.hidden, shape.width, bias=shape.biases)

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
    """A language model; a causal one predicts next tokens, any other predicts masked tokens.

    >>> shape = Shape(width=16, heads=2, hidden=32, context=8, causal=True)
    >>> SharingTransformer(shape, (0, 1, 0, 1), vocabulary=50)(torch.zeros(1, 4).long()).shape
    torch.Size([1, 4, 50])
    """

    def __init__(
        self, shape: Shape, order: Sequence[int], *, vocabulary: int, halting: bool = False
    ) -> None:
        super().__init__()
        self.order = tuple(order)
        self.tokens = nn.Embedding(vocabulary, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.sets = nn.ModuleList(Layer(shape) for _ in range(max(self.order) + 1))
        self.norm = nn.LayerNorm(shape.width, bias=shape.biases)
        self.halting = Halting(shape.width) if halting else None

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
