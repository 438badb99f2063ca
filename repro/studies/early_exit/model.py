"""The transformer of source 000: post-norm blocks, and one output head for all layers.

Shapes: B windows, T characters, d width, H heads, V alphabet.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROTARY_BASE = 10_000.0
NORM_EPSILON = 1e-6


class Attention(nn.Module):
    """Causal attention with rotary positions, without biases."""

    pairs: Tensor  # [d], features in an order that lays the halves of each head side by side

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        halves = torch.arange(width).view(heads, 2, -1)
        self.register_buffer("pairs", halves.transpose(1, 2).flatten(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> same
        q, k = (self._rotated(layer, x) for layer in (self.query, self.key))
        v = self._heads(self.value(x))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(x.shape))
        return out

    def _heads(self, x: Tensor) -> Tensor:  # [B, T, d] -> [B, H, T, d/H]
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def _rotated(self, layer: nn.Linear, x: Tensor) -> Tensor:
        """Return rotated queries or keys; both have the same order of features, as scores need."""
        projected = F.linear(x, layer.weight[self.pairs])
        return self._heads(rotated(projected, heads=self.heads))


def rotated(x: Tensor, *, heads: int) -> Tensor:
    """Rotate each pair of neighbouring features of x [B, T, d] by an angle, growing with position.

    All heads have the same speeds.
    """
    batch, length, width = x.shape
    half = width // heads // 2
    speeds = ROTARY_BASE ** (-torch.arange(half, device=x.device) / half)
    angles = torch.arange(length, device=x.device)[:, None] * speeds  # [T, d/2H]
    turns = torch.polar(torch.ones_like(angles), angles).repeat(1, heads)  # [T, d/2]
    pairs = torch.view_as_complex(x.view(batch, length, -1, 2))
    return torch.view_as_real(pairs * turns).view(x.shape)


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

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> same
        x = self.norm_attention(x + self.attention(x))
        out: Tensor = self.norm_feed_forward(x + self.down(F.silu(self.gate(x)) * self.up(x)))
        return out


class EarlyExitTransformer(nn.Module):
    """A transformer in which every layer can predict by the same head."""

    def __init__(
        self,
        *,
        alphabet: int,
        width: int,
        heads: int,
        hidden: int,
        layers: int,
        learns_confidence: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(alphabet, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(layers))
        self.head = nn.Linear(width, alphabet, bias=False)
        self.confidence = nn.Linear(width, 1) if learns_confidence else None

    def states(self, x: Tensor) -> list[Tensor]:
        """Return the stream after each layer, the first layer first: each [B, T, d]."""
        h, states = self.embedding(x), []
        for block in self.blocks:
            h = block(h)
            states.append(h)
        return states

    def forward_all_layers(self, x: Tensor) -> list[Tensor]:
        """Return the logits after each layer, the first layer first: each [B, T, V].

        >>> len(model.forward_all_layers(x)) == len(model.blocks)
        True
        """
        return [self.head(h) for h in self.states(x)]

    forward = forward_all_layers

    def right_answer(self, h: Tensor) -> Tensor:
        """Return the learned log-odds that an exit's answer is right: [B, T, d] -> [B, T].

        Its gradient does not reach the network, whose training is unchanged.
        """
        assert self.confidence is not None
        log_odds: Tensor = self.confidence(h.detach()).squeeze(-1)
        return log_odds

    def sureness(self, h: Tensor, logits: Tensor) -> Tensor:
        """Return the confidence of an exit: the learned one, or else its largest probability."""
        if self.confidence is None:
            return logits.detach().softmax(-1).amax(-1)
        return self.right_answer(h).detach().sigmoid()

    def forward_train(self, x: Tensor, *, exit_layer: int = 1) -> tuple[Tensor, Tensor]:
        """Return only the logits after the exit layer and after the last layer.

        >>> shallow, deep = model.forward_train(x)
        """
        if not 1 <= exit_layer <= len(self.blocks):
            raise ValueError(
                f"exit_layer={exit_layer} is not one of the {len(self.blocks)} layers, which count"
                " from 1."
            )
        states = self.states(x)
        return self.head(states[exit_layer - 1]), self.head(states[-1])
