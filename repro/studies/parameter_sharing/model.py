"""A transformer whose layers share a few sets of parameters.

A shared set is one module: it has one storage, one gradient and one optimiser state.

Shapes: B texts, T tokens, d width, H heads, V vocabulary.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from repro.studies.parameter_sharing.arms import SharingArm


class Attention(nn.Module):
    """Attention of each token to all, or in a decoder to those before it."""

    def __init__(self, arm: SharingArm) -> None:
        super().__init__()
        self.head, self.causal = arm.head, arm.kind == "decoder"
        self.query_key_value = nn.Linear(arm.width, 3 * arm.width)
        self.out = nn.Linear(arm.width, arm.width)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> same
        q, k, v = map(self._heads, self.query_key_value(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        out: Tensor = self.out(mixed.transpose(1, 2).reshape(x.shape))
        return out

    def _heads(self, x: Tensor) -> Tensor:  # [B, T, d] -> [B, H, T, d/H]
        return x.view(*x.shape[:2], -1, self.head).transpose(1, 2)


class Layer(nn.Module):
    """One set of parameters: attention and a feed-forward layer, pre-norm."""

    def __init__(self, arm: SharingArm) -> None:
        super().__init__()
        width = arm.width
        self.norm_attention = nn.LayerNorm(width)
        self.attention = Attention(arm)
        self.norm_feed_forward = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, d] -> same
        x = x + self.attention(self.norm_attention(x))
        out: Tensor = x + self.down(F.gelu(self.up(self.norm_feed_forward(x))))
        return out


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
        self.norm = nn.LayerNorm(arm.width)

    def forward(self, tokens: Tensor, at: Tensor | None = None) -> Tensor:
        """Turn tokens [B, T] into logits [B, T, V], by the tied embedding.

        With positions `at`, the logits are only for these: [positions, V].
        """
        h = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for index in self.order:
            h = self.sets[index](h)
        if at is not None:
            h = h[at]
        return F.linear(self.norm(h), self.tokens.weight)
