"""The study of source 002: one run of parameter sharing, trained by autograd.

Shapes: B windows, T tokens, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.arm import Run
from repro.core.initial import as_gpt2
from repro.core.models import ReferenceBase
from repro.core.study import Measures
from repro.studies.parameter_sharing.arms import SharingArm
from repro.studies.parameter_sharing.data import NO_TARGET, SharingData
from repro.studies.parameter_sharing.model import SharingTransformer
from repro.studies.parameter_sharing.scoring import (
    Reader,
    by_paradigm,
    mutual_information,
    preferred,
)

WINDOWS_AT_ONCE = 16


class SharingModel(ReferenceBase):
    """One run of parameter sharing."""

    def __init__(self, run: Run[SharingArm], data: SharingData, device: torch.device) -> None:
        self.arm, self.data = run.arm, data
        self.module = SharingTransformer(self.arm, vocabulary=data.vocabulary)
        as_gpt2(self.module, run.seed, layers=self.arm.layers)
        with torch.no_grad():
            for parameter in self.module.parameters():
                if parameter.ndim == 2:
                    parameter.mul_(self.arm.initial_scale)
        self.module.to(device)

    def loss(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        is_target = y != NO_TARGET
        loss = F.cross_entropy(self.module(x, is_target), y[is_target])
        return loss, loss

    def measure(self) -> Measures:
        arm, data = self.arm, self.data
        mask = data.mask if arm.kind == "encoder" else None
        reader = Reader(self.module, data.end, mask, device=data.device)
        rows = [
            first + n
            for first in range(0, len(data.pairs.paradigm), self._pairs_each)
            for n in range(min(arm.pairs_a_paradigm, self._pairs_each))
        ]
        good, bad = (
            reader.scores([sentences[row] for row in rows])
            for sentences in (data.pairs.good, data.pairs.bad)
        )
        paradigms = by_paradigm(preferred(good, bad), data.pairs.paradigm[rows])
        count = min(arm.last_words, len(data.passages.last))
        words = reader.last_words(
            [data.passages.context[row] for row in range(count)],
            [data.passages.last[row] for row in range(count)],
            longest=arm.context,
        )
        loss, information = self._on_validation()
        return {
            "blimp": sum(paradigms) / len(paradigms),
            "paradigms": paradigms,
            "lambada_accuracy": words.accuracy,
            "lambada_perplexity": words.perplexity,
            "perplexity": float(loss.exp()),
            "mutual_information": information,
            "parameters": _count(self.module),
            "parameters_in_layers": _count(self.module.sets),
            "multiplications": arm.products,
        }

    @property
    def _pairs_each(self) -> int:
        return len(self.data.pairs.paradigm) // len(self.data.pairs.paradigms)

    def _on_validation(self) -> tuple[Tensor, float]:
        """Return the validation loss, and how much answers depend on the input."""
        x, y = self.data.validation_task()
        answers, wanted = [], []
        for read, tell in zip(
            torch.split(x, WINDOWS_AT_ONCE), torch.split(y, WINDOWS_AT_ONCE), strict=True
        ):
            is_target = tell != NO_TARGET
            answers.append(self.module(read, is_target))
            wanted.append(tell[is_target])
        logits = torch.cat(answers)
        return F.cross_entropy(logits, torch.cat(wanted)), mutual_information(logits)


def _count(module: nn.Module) -> float:
    return float(sum(p.numel() for p in module.parameters()))


class ParameterSharing:
    """Language models whose layers share parameters."""

    monitor = None
    load, reference = SharingData, SharingModel


STUDY = ParameterSharing()
