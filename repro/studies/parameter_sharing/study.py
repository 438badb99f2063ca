"""The study of source 002: one run of parameter sharing, trained by autograd.

Shapes: B windows, T tokens, V vocabulary.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from repro.arm import Run
from repro.core.initial import as_gpt2
from repro.core.models import ReferenceBase
from repro.core.study import Measures
from repro.studies.parameter_sharing.arms import PartialArm, SharingArm
from repro.studies.parameter_sharing.data import NO_TARGET, SharingData
from repro.studies.parameter_sharing.model import Layer, SharingTransformer, prune
from repro.studies.parameter_sharing.scoring import (
    Reader,
    by_paradigm,
    preferred,
    told_by_the_input,
)

TAUGHT = 0.5
"""The weight of the distance from the teacher's answers in the loss."""

TEMPERATURE = 2.0
PONDER = 0.01
"""With halting, the loss for each layer of a place."""

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
        if isinstance(self.arm, PartialArm):
            share(self.module.sets, self.arm)
        self.teacher = None
        if self.arm.starts_from is not None:
            assert data.teacher is not None
            self.teacher = SharingTransformer(self.arm.starts_from.arm, vocabulary=data.vocabulary)
            self.teacher.load_state_dict(data.teacher)
            self.teacher.to(device).requires_grad_(False)

    def loss(self, x: Tensor, y: Tensor, epochs: Tensor) -> tuple[Tensor, Tensor]:
        if self.arm.pruned:
            prune(self.module.sets, share=self.share_pruned(int(epochs[0])))
        is_target = y != NO_TARGET
        logits, cost = self.module.with_cost(x, is_target)
        plain = F.cross_entropy(logits, y[is_target])
        objective = plain
        if self.teacher is not None:
            with torch.no_grad():
                wanted, _ = self.teacher.with_cost(x, is_target)
            objective = (1 - TAUGHT) * plain + TAUGHT * distance(logits, wanted)
        if self.arm.halting:
            objective = objective + PONDER * cost.mean()
        return objective, plain

    def share_pruned(self, epoch: int) -> float:
        """Return the pruned share in an epoch; it grows over the first half of training."""
        return self.arm.pruned * min(1.0, 2 * epoch / self.arm.recipe.epochs)

    def measure(self) -> Measures:
        arm, data = self.arm, self.data
        if arm.pruned:
            prune(self.module.sets, share=arm.pruned)
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
        loss, share = self._on_validation()
        return {
            "blimp": sum(paradigms) / len(paradigms),
            "paradigms": paradigms,
            "lambada_accuracy": words.accuracy,
            "lambada_perplexity": words.perplexity,
            "perplexity": float(loss.exp()),
            "told_by_the_input": share,
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
            answers.append(self.module.with_cost(read, is_target)[0])
            wanted.append(tell[is_target])
        logits = torch.cat(answers)
        return F.cross_entropy(logits, torch.cat(wanted)), told_by_the_input(logits)


def _count(module: nn.Module) -> float:
    return float(sum(p.numel() for p in module.parameters()))


def share(layers: nn.ModuleList, arm: PartialArm) -> None:
    """Put the part of the first sharing layer into the other sharing layers."""
    first, *others = arm.sharing
    for place in others:
        if arm.part == "block":
            layers[place] = layers[first]
            continue
        shared, layer = cast(Layer, layers[first]), cast(Layer, layers[place])
        layer.up, layer.down = shared.up, shared.down


def distance(answers: Tensor, wanted: Tensor) -> Tensor:
    """Return the distance between answers and a teacher's, both softened (Hinton et al. 2015).

    It is scaled to the size of the loss.
    """
    ours, theirs = (logits.div(TEMPERATURE).log_softmax(-1) for logits in (answers, wanted))
    return TEMPERATURE**2 * F.kl_div(ours, theirs, reduction="batchmean", log_target=True)


class ParameterSharing:
    """Language models whose layers share parameters."""

    monitor = None
    load_from, reference = SharingData, SharingModel

    def load(self, arm: SharingArm, device: torch.device) -> SharingData:
        return SharingData(arm, None, device)


STUDY = ParameterSharing()
