"""Windows of paragraphs, with masked tokens for encoders.

Shapes: R runs, B windows, T tokens.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from repro.core.passes import shuffled_passes
from repro.core.streams import stream
from repro.data.corpus import load_paragraphs
from repro.data.pairs import load_pairs
from repro.data.passages import load_passages
from repro.data.ragged import Tokens
from repro.data.windows import windows
from repro.studies.parameter_sharing.arms import STEPS_AN_EPOCH, SharingArm

MASKED = 0.15
NO_TARGET = -100
"""The target at positions without a prediction."""

FRAME = 2
"""The number of end-of-text tokens around a sentence."""

VALIDATION_WINDOWS = 32
_VALIDATION_KEY = 1


class SharingData:
    """The windows for training and validation, and the sentences and passages for the scores."""

    def __init__(self, arm: SharingArm, device: torch.device) -> None:
        self.arm, self.device = arm, device
        corpus = load_paragraphs(arm.data, tokenizer=arm.cut_tokenizer)
        self.end, self.mask = corpus.vocabulary - 1, corpus.vocabulary
        self.vocabulary = corpus.vocabulary + 1
        self.train = self._windows(corpus.train)
        self.validation = self._windows(corpus.validation)[:VALIDATION_WINDOWS]
        self.pairs = load_pairs(arm.pairs, tokenizer=arm.cut_tokenizer)
        longest = max(x.lengths.max() for x in (self.pairs.good, self.pairs.bad))
        if longest + FRAME > arm.context:
            raise ValueError(
                f"context={arm.context} cannot hold the longest sentence, of {longest} tokens and"
                f" {FRAME} around it."
            )
        self.passages = load_passages(arm.passages, arm.variant, tokenizer=arm.cut_tokenizer)

    def _windows(self, tokens: Tokens) -> Tensor:  # [windows, T+1]
        rows = windows(tokens, length=self.arm.context).astype(np.int64)
        return torch.from_numpy(rows).to(self.device)

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [n, 2]: the next windows, and the key of each window's mask.

        The windows come from a sequence of shuffled passes.
        """
        size = STEPS_AN_EPOCH * self.arm.recipe.batch
        order = shuffled_passes(seed, lines=len(self.train), first=number * size, size=size)
        keys = torch.empty_like(order).random_(generator=stream(seed, f"masks/{number}"))
        return torch.stack([order, keys], dim=1)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines [R, B, 2] into inputs and targets, [R, B, T]."""
        return self.task(self.train[lines[..., 0]], lines[..., 1])

    def task(self, lines: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Turn windows [..., T+1] into inputs and targets, [..., T]."""
        if self.arm.kind == "decoder":
            return lines[..., :-1], lines[..., 1:]
        text = lines[..., :-1]
        hidden = masked_positions(keys, text.shape[-1]).to(text.device)
        return text.where(~hidden, self.mask), text.where(hidden, NO_TARGET)

    def validation_task(self) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of the validation windows, with the same masks for all runs."""
        keys = torch.arange(len(self.validation)) + _VALIDATION_KEY
        return self.task(self.validation, keys)


def masked_positions(keys: Tensor, length: int) -> Tensor:
    """Draw masked positions by the keys of windows, equally many in each: [...] to [..., T]."""
    generator = torch.Generator()
    rows = []
    for key in keys.flatten().tolist():
        order = torch.rand(length, generator=generator.manual_seed(key)).argsort()
        rows.append(order < max(1, round(MASKED * length)))
    return torch.stack(rows).view(*keys.shape, length)
