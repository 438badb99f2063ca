"""A small GPT of our own, trained to tell the next token, so that there is one to finetune.

Shapes: B windows, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.initial import as_gpt2
from repro.core.passes import shuffled_passes
from repro.core.study import Measures
from repro.data.corpus import load_byte_pairs
from repro.data.windows import windows
from repro.studies.finetuning.arms import WINDOWS_AN_EPOCH, PretrainArm
from repro.studies.finetuning.gpt import Gpt
from repro.studies.finetuning.vocabulary import renumbered

VALIDATION_WINDOWS = 32


class PretrainData:
    """Windows of the corpus, each with the token that follows it."""

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
        """[n, 1]: the next windows of one pass over the corpus after another, each shuffled."""
        first = number * WINDOWS_AN_EPOCH
        lines = len(self.train)
        order = shuffled_passes(seed, lines=lines, first=first, size=WINDOWS_AN_EPOCH)
        return order[:, None]

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Lines [R, B, 1] to tokens [R, B, T], and those that follow."""
        chosen = self.train[lines[..., 0]]
        return chosen[..., :-1], chosen[..., 1:]


class PretrainModel:
    """One run."""

    def __init__(self, run: Run, data: PretrainData, device: torch.device) -> None:
        assert isinstance(run.arm, PretrainArm)
        self.data = data
        self.module = Gpt(run.arm.shape, vocabulary=data.vocabulary)
        as_gpt2(self.module, run.seed, layers=run.arm.shape.layers)
        self.module.to(device)

    def lr_scales(self) -> Mapping[str, float]:
        return {}

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        loss = F.cross_entropy(self.module.next_tokens(x).flatten(0, 1), y.flatten())
        return loss, loss

    def measure(self) -> Measures:
        losses = [
            self.loss(some[:, :-1], some[:, 1:])[0] for some in torch.split(self.data.validation, 4)
        ]
        return {"perplexity": float(torch.stack(losses).mean().exp())}


class Pretraining:
    """The study of the model that is finetuned where GPT-2 is not."""

    monitor = None

    def load(self, arm: PretrainArm, device: torch.device) -> PretrainData:
        return PretrainData(arm, device)

    def reference(self, run: Run, data: PretrainData, device: torch.device) -> PretrainModel:
        return PretrainModel(run, data, device)


STUDY = Pretraining()
