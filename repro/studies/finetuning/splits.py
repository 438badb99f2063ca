"""The study of source 003 with a split of the messages for each seed.

The parts have as many messages as the source's. The vocabulary is the same for all seeds; it has
the tokens of the source's training messages.
"""

from __future__ import annotations

import copy
from typing import Self

import torch
from torch import Tensor

from repro.arm import Run
from repro.core.streams import stream
from repro.core.weights import Parameters
from repro.data.messages import PARTS
from repro.studies.finetuning.data import FinetuneData, Part
from repro.studies.finetuning.gpt2 import load_weights
from repro.studies.finetuning.split_arms import SplitArm
from repro.studies.finetuning.study import FinetuneModel


class SplitData(FinetuneData):
    """All messages, of which each seed draws its three parts."""

    def __init__(self, arm: SplitArm, pretrained: Parameters | None, device: torch.device) -> None:
        super().__init__(arm, pretrained, device)
        parts: list[Part] = [getattr(self, name) for name in PARTS]
        self.sizes = [len(part.is_spam) for part in parts]
        words = [part.words for part in parts if part.words is not None]
        self.messages = Part(
            x=torch.cat([part.x for part in parts]),
            read=torch.cat([part.read for part in parts]),
            words=torch.cat(words) if words else None,
            is_spam=torch.cat([part.is_spam for part in parts]),
        )

    def split(self, seed: int) -> list[Tensor]:
        """Return the numbers of a seed's messages for training, validation and test."""
        order = torch.randperm(sum(self.sizes), generator=stream(seed, "split"))
        return list(torch.split(order, self.sizes))

    def of(self, seed: int) -> Self:
        """Return the same data with the parts of a seed."""
        found = copy.copy(self)
        for name, numbers in zip(PARTS, self.split(seed), strict=True):
            x, read, is_spam, *words = self.messages.rows(numbers)
            setattr(found, name, Part(x, read, words[0] if words else None, is_spam))
        return found

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return [N, 1]: the number of a message among all."""
        return self.split(seed)[0][super().epoch(seed, number)]

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines [R, B, 1] into x [R, B, T], positions, labels, and perhaps words."""
        return self.messages.rows(lines[..., 0])


class SplitModel(FinetuneModel):
    """One run of finetuning, measured on the messages of its seed."""

    def __init__(self, run: Run[SplitArm], data: SplitData, device: torch.device) -> None:
        super().__init__(run, data.of(run.seed), device)


class SplitFinetuning:
    """GPTs that are finetuned to tell spam from ham, on messages that differ by seed."""

    monitor = None
    load_from, reference = SplitData, SplitModel

    def load(self, arm: SplitArm, device: torch.device) -> SplitData:
        if arm.start == "random":
            return SplitData(arm, None, device)
        return SplitData(arm, load_weights(arm.size), device)


STUDY = SplitFinetuning()
