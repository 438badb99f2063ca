"""A small GPT of our own, trained to tell the next token, so that there is one to finetune.

Shapes: B windows, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.streams import stream
from repro.core.study import Measures
from repro.data.corpus import load_byte_pairs
from repro.studies.finetuning.arms import WINDOWS_AN_EPOCH, PretrainArm
from repro.studies.finetuning.gpt import Gpt
from repro.studies.finetuning.initial import as_gpt2
from repro.studies.finetuning.vocabulary import Numbers, renumbered

VALIDATION_WINDOWS = 32


class PretrainData:
    """Windows of the corpus, each with the token that follows it."""

    def __init__(self, arm: PretrainArm, device: torch.device) -> None:
        corpus = load_byte_pairs(arm.data, tokenizer=arm.tokenizer)
        numbers = renumbered(
            corpus=arm.data, messages=arm.messages, tokenizer=arm.tokenizer, size=arm.vocabulary
        )
        self.vocabulary = int(numbers.max()) + 1
        length = arm.shape.context
        self.train, validation = (
            torch.from_numpy(_windows(numbers[part], length)).to(device)
            for part in (corpus.train, corpus.validation)
        )  # [windows, T+1]
        self.validation = validation[:VALIDATION_WINDOWS]

    def epoch(self, seed: int, number: int) -> Tensor:
        """[n, 1]: the next windows of one pass over the corpus after another, each shuffled."""
        count = len(self.train)
        first, last = number * WINDOWS_AN_EPOCH, (number + 1) * WINDOWS_AN_EPOCH
        passes = range(first // count, (last - 1) // count + 1)
        orders = (torch.randperm(count, generator=stream(seed, f"order/{n}")) for n in passes)
        return torch.cat(list(orders))[first - passes[0] * count :][:WINDOWS_AN_EPOCH, None]

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Lines [R, B, 1] to tokens [R, B, T], and those that follow."""
        windows = self.train[lines[..., 0]]
        return windows[..., :-1], windows[..., 1:]


def _windows(tokens: Numbers, length: int) -> Numbers:
    count = (len(tokens) - 1) // length
    return np.stack([tokens[n * length : (n + 1) * length + 1] for n in range(count)])


class PretrainModel:
    """One run."""

    def __init__(self, run: Run, data: PretrainData, device: torch.device) -> None:
        assert isinstance(run.arm, PretrainArm)
        self.data = data
        self.module = Gpt(run.arm.shape, vocabulary=data.vocabulary)
        as_gpt2(self.module, run.seed)
        self.module.to(device)

    def lr_scales(self) -> Mapping[str, float]:
        return {}

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        loss = F.cross_entropy(self.module.next_tokens(x).flatten(0, 1), y.flatten())
        return loss, loss

    def measure(self) -> Measures:
        losses = [
            self.loss(windows[:, :-1], windows[:, 1:])[0]
            for windows in torch.split(self.data.validation, 4)
        ]
        return {"perplexity": float(torch.stack(losses).mean().exp())}


class Pretraining:
    """The study of the model that is finetuned where GPT-2 is not."""

    monitor = None

    def load(self, arm: PretrainArm, device: torch.device) -> PretrainData:
        return PretrainData(arm, device)

    def reference(self, run: Run, data: PretrainData, device: torch.device) -> PretrainModel:
        return PretrainModel(run, data, device)

    def stacked(self, *_: object) -> None:
        raise NotImplementedError("a transformer of this size fills a core alone")


STUDY = Pretraining()
