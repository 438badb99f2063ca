"""The transformer of source 000: post-norm blocks, and one output head that every layer shares.

Shapes: B windows, T characters, d width, H heads, V alphabet.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROTARY_BASE = 10_000.0
NORM_EPSILON = 1e-6


class Attention(nn.Module):
    """Causal attention with rotary positions, without biases."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> [B, T, d]
        batch, length, width = x.shape

        def heads(layer: nn.Linear) -> Tensor:  # [B, H, T, d/H]
            projected: Tensor = layer(x)
            return projected.view(batch, length, self.heads, -1).transpose(1, 2)

        q, k = rotated(heads(self.query)), rotated(heads(self.key))
        mixed = F.scaled_dot_product_attention(q, k, heads(self.value), is_causal=True)
        found: Tensor = self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return found


def rotated(x: Tensor) -> Tensor:
    """Turn each half-split pair of features by an angle that grows with the position."""
    length, features = x.shape[-2:]
    half = features // 2
    speeds = ROTARY_BASE ** (-torch.arange(half, device=x.device) / half)
    angles = torch.arange(length, device=x.device)[:, None] * speeds  # [T, d/2H]
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Block(nn.Module):
    """Attention and a gated feed-forward layer, each added and then normalised."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.norm_attention = nn.RMSNorm(width, eps=NORM_EPSILON)
        self.norm_feed_forward = nn.RMSNorm(width, eps=NORM_EPSILON)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> [B, T, d]
        x = self.norm_attention(x + self.attention(x))
        found: Tensor = self.norm_feed_forward(x + self.down(F.silu(self.gate(x)) * self.up(x)))
        return found


@dataclass(frozen=True)
class Shallow:
    """What `forward_train` gives: two exits, and how sure the shallow one is."""

    shallow_logits: Tensor  # [B, T, V]
    deep_logits: Tensor  # [B, T, V]
    confidence: Tensor  # [B, T], the largest probability of the shallow exit, without gradient


class EarlyExitTransformer(nn.Module):
    """Every layer can answer through the same head."""

    def __init__(self, *, alphabet: int, width: int, heads: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(alphabet, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(layers))
        self.head = nn.Linear(width, alphabet, bias=False)

    def forward_all_layers(self, x: Tensor) -> list[Tensor]:
        """The logits after each layer, the first layer first: each [B, T, V].

        >>> len(model.forward_all_layers(x)) == len(model.blocks)
        True
        """
        h, found = self.embedding(x), []
        for block in self.blocks:
            h = block(h)
            found.append(self.head(h))
        return found

    def forward_train(self, x: Tensor, *, exit_layer: int = 1) -> Shallow:
        """The logits after the exit layer and after the last, and nothing in between.

        >>> model.forward_train(x).confidence.max() <= 1
        tensor(True)
        """
        h = self.embedding(x)
        shallow = None
        for number, block in enumerate(self.blocks, start=1):
            h = block(h)
            if number == exit_layer:
                shallow = self.head(h)
        if shallow is None:
            raise ValueError(
                f"exit_layer={exit_layer} is not one of the {len(self.blocks)} layers, which count"
                " from 1."
            )
        confidence = shallow.detach().softmax(-1).amax(-1)
        return Shallow(shallow, self.head(h), confidence)
