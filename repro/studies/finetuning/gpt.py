"""The network of GPT-2: pre-norm blocks over tokens and learned positions.

Shapes: B texts, T tokens, d width, H heads, Q places that are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.studies.finetuning.shape import Shape


@dataclass(frozen=True)
class Sight:
    """Which places a place may attend to: only earlier ones or all, with padding or without."""

    causal: bool = True
    words: Tensor | None = None  # [B, T], where padding is not looked at

    def mask(self, length: int, read: Tensor | None, device: torch.device) -> Tensor | None:
        """Return the mask of the places that `read` sees, [B or 1, 1, Q, T]; None for all."""
        if not self.causal and self.words is None:
            return None
        places = torch.arange(length, device=device)
        reads = places[None] if read is None else read[:, None]  # [B or 1, Q]
        seen = torch.ones(1, 1, length, dtype=torch.bool, device=device)
        if self.causal:
            seen = places <= reads[..., None]  # [B or 1, Q, T]
        if self.words is not None:
            seen = seen & self.words[:, None]
        return seen[:, None]


EVERYTHING_BEFORE = Sight()


class Attention(nn.Module):
    """Attention of many heads, with separate layers for queries, keys and values."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(shape.width, shape.width) for _ in range(4)
        )

    def forward(self, x: Tensor, sight: Sight, read: Tensor | None) -> Tensor:  # -> [B, Q, d]
        q = self._heads(self.query(_at(x, read)))
        k, v = self._heads(self.key(x)), self._heads(self.value(x))
        if read is None and sight.words is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=sight.causal)
        else:
            mask = sight.mask(x.shape[1], read, x.device)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out

    def _heads(self, x: Tensor) -> Tensor:  # [B, T, d] -> [B, H, T, d/H]
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


class Block(nn.Module):
    """Attention and a feed-forward layer, each on normalised inputs, each added."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(shape.width)
        self.attention = Attention(shape)
        self.norm_feed_forward = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, x: Tensor, sight: Sight, read: Tensor | None = None) -> Tensor:
        """Apply the block: [B, T, d] -> [B, T, d], or [B, 1, d] at each text's place `read`."""
        x = _at(x, read) + self.attention(self.norm_attention(x), sight, read)
        fed = F.gelu(self.up(self.norm_feed_forward(x)), approximate="tanh")
        out: Tensor = x + self.down(fed)
        return out


def _at(x: Tensor, read: Tensor | None) -> Tensor:
    """Return only the places `read` [B], if given: [B, T, d] -> [B, 1, d]."""
    if read is None:
        return x
    return x.gather(1, read[:, None, None].expand(-1, 1, x.shape[2]))


class Gpt(nn.Module):
    """The network up to its final norm.

    >>> Gpt(SHAPES["tiny"], vocabulary=1024)(torch.zeros(1, 8, dtype=torch.int64)).shape
    torch.Size([1, 8, 48])
    """

    def __init__(self, shape: Shape, *, vocabulary: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, shape.width)
        self.positions = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)

    def embed(self, tokens: Tensor) -> Tensor:  # [B, T] -> [B, T, d]
        embedded: Tensor = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        return embedded

    def forward(self, tokens: Tensor, sight: Sight = EVERYTHING_BEFORE) -> Tensor:
        """Turn tokens [B, T] into features [B, T, d]."""
        h = self.embed(tokens)
        for block in self.blocks:
            h = block(h, sight)
        out: Tensor = self.norm(h)
        return out

    def next_tokens(self, tokens: Tensor) -> Tensor:
        """Turn tokens [B, T] into logits of the next tokens [B, T, V], by the tied embedding."""
        return F.linear(self(tokens), self.tokens.weight)
