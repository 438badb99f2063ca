"""Pretraining of a small GPT on next tokens, for finetuning without GPT-2's weights.

Shapes: B windows, T tokens, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.initial import as_gpt2
from repro.core.models import ReferenceBase
from repro.core.passes import shuffled_passes
from repro.core.study import Measures
from repro.data.corpus import load_byte_pairs
from repro.data.windows import windows
from repro.studies.finetuning.arms import WINDOWS_AN_EPOCH, PretrainArm
from repro.studies.finetuning.data import renumbered
from repro.studies.finetuning.model import Gpt

VALIDATION_WINDOWS = 32


class PretrainData:
    """Windows of the corpus, each with the next token."""

    def __init__(self, arm: PretrainArm, device: torch.device) -> None:
        corpus = load_byte_pairs(arm.data, tokenizer=arm.tokenizer)
        numbers = renumbered(
            corpus=arm.data, messages=arm.messages, tokenizer=arm.tokenizer, size=arm.vocabulary
        )
        self.vocabulary = int(numbers.max()) + 1
        self.train, validation = (
            torch.from_numpy(windows(numbers[part], length=arm.shape.context).copy()).to(device)
            for part in (corpus.train, corpus.validation)
        )  # [windows, T+1]
        self.validation = validation[:VALIDATION_WINDOWS]

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [n, 1]: the next windows from a sequence of shuffled passes over the corpus."""
        first = number * WINDOWS_AN_EPOCH
        lines = len(self.train)
        order = shuffled_passes(seed, lines=lines, first=first, size=WINDOWS_AN_EPOCH)
        return order[:, None]

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines [R, B, 1] into tokens [R, B, T], and the next tokens."""
        chosen = self.train[lines[..., 0]]
        return chosen[..., :-1], chosen[..., 1:]


class PretrainModel(ReferenceBase):
    """One run of pretraining."""

    def __init__(self, run: Run[PretrainArm], data: PretrainData, device: torch.device) -> None:
        self.data = data
        self.module = Gpt(run.arm.shape, vocabulary=data.vocabulary)
        as_gpt2(self.module, run.seed, layers=run.arm.shape.layers)
        self.module.to(device)

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        loss = F.cross_entropy(self.module.next_tokens(x).flatten(0, 1), y.flatten())
        return loss, loss

    def measure(self) -> Measures:
        losses = [
            self.loss(some[:, :-1], some[:, 1:])[0] for some in torch.split(self.data.validation, 4)
        ]
        return {"perplexity": float(torch.stack(losses).mean().exp())}


class Pretraining:
    """The study of the model that replaces GPT-2."""

    monitor = None
    load, reference = PretrainData, PretrainModel


STUDY = Pretraining()
