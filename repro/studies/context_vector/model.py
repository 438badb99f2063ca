"""The language model of source 001, word by word, as described in its text.

Shapes: B sequences, T words, E embedding, H width, C context, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.studies.context_vector.arms import ContextArm
from repro.studies.context_vector.dropout import kept

CONTEXT_LIMIT = 10.0


class ContextLanguageModel(nn.Module):
    """A network that reads a word and the context, predicts the next word, updates the context."""

    def __init__(self, arm: ContextArm) -> None:
        super().__init__()
        self.arm = arm
        self.embedding = nn.Embedding(arm.vocabulary, arm.embedding)
        self.layers = nn.ModuleList(
            nn.Linear(arm.width if layer else arm.embedding + arm.context, arm.width)
            for layer in range(arm.layers)
        )
        self.head = nn.Linear(arm.width, arm.vocabulary)
        self.delta, self.forget, self.admit = (nn.Linear(arm.width, arm.context) for _ in range(3))
        self.norm = nn.LayerNorm(arm.context)

    def forward(
        self, words: Tensor, *, context: Tensor | None = None, keys: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Turn words [B, T] into logits [B, T, V] and the context after them, [B, C].

        A given context continues earlier words; keys [B] determine dropout.

        >>> logits, context = model(words[:, :10])
        >>> rest, _ = model(words[:, 10:], context=context)
        """
        arm = self.arm
        if context is None:
            context = torch.zeros(len(words), arm.context, device=words.device)
        steps = words.shape[1]
        left = (
            kept(keys, share=arm.dropout, steps=steps, units=arm.layers * arm.width)
            if keys is not None and arm.dropout
            else None
        )  # [T, B, L*H]
        logits = []
        for step in range(steps):
            masks = left[step].chunk(arm.layers, dim=-1) if left is not None else None
            h = self._stack(torch.cat([self.embedding(words[:, step]), context], dim=-1), masks)
            logits.append(self.head(h))
            stays, enters = self.forget(h).sigmoid(), self.admit(h).sigmoid()
            context = self.norm(stays * context + enters * self.delta(h))
            context = context.clamp(-CONTEXT_LIMIT, CONTEXT_LIMIT)
        return torch.stack(logits, dim=1), context

    def _stack(self, h: Tensor, masks: tuple[Tensor, ...] | None) -> Tensor:
        """Apply the layers: [B, E+C] -> [B, H]."""
        for index, layer in enumerate(self.layers):
            u = layer(h)
            if self.arm.stack == "normalised":
                u = F.layer_norm(u, [self.arm.width])
            out = u.relu() if masks is None else u.relu() * masks[index]
            h = h + out if self.arm.stack == "residual" and index else out
        return h
