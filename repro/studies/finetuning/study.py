"""The study of source 003: runs of finetuning by autograd, one alone or many as one.

Shapes: R runs, B messages, T tokens.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, vmap

from repro.arm import Run
from repro.core.models import ReferenceBase, StackOfModels
from repro.core.study import Measures
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.data import CHUNK, FinetuneData, Part
from repro.studies.finetuning.gpt2 import load_weights
from repro.studies.finetuning.model import started


class FinetuneModel(ReferenceBase):
    """One run of finetuning."""

    def __init__(self, run: Run[FinetuneArm], data: FinetuneData, device: torch.device) -> None:
        self.arm, self.data = run.arm, data
        pretrained = data.pretrained if self.arm.start == "pretrained" else None
        self.module = started(
            self.arm, run.seed, pretrained=pretrained, vocabulary=data.vocabulary, device=device
        )

    def answers(self, x: Tensor, read: Tensor, words: Tensor | None) -> Tensor:  # -> [B, 2]
        answers: Tensor = self.module(x, read, words, self.arm.causal)
        return answers

    def loss(
        self, x: Tensor, read: Tensor, is_spam: Tensor, words: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        answers = self.answers(x, read, words)
        loss = F.cross_entropy(answers, is_spam, ignore_index=self.arm.ignored_label)
        return loss, loss

    def measure(self) -> Measures:
        data = self.data
        train, validation, test = map(self._right, (data.train, data.validation, data.test))
        on_train, on_validation, on_test = (
            float(right.mean()) for right in (train, validation, test)
        )
        return {
            "train_accuracy": on_train,
            "validation_accuracy": on_validation,
            "test_accuracy": on_test,
            "train_over_test": on_train - on_test,
            "train_over_validation": on_train - on_validation,
            "test_right": test.tolist(),
            "validation_right": validation.tolist(),
            "longest": float(data.longest),
            "parameters": float(sum(p.numel() for p in self.module.parameters())),
            "multiplications": self.arm.multiplications,
        }

    def _right(self, part: Part) -> Tensor:
        """Return [N]: 1 where the answer to a message is right."""
        right = []
        for at in range(0, len(part.is_spam), CHUNK):
            x, read, is_spam, *words = part.rows(slice(at, at + CHUNK))
            answers = self.answers(x, read, words[0] if words else None)
            right.append(answers.argmax(1) == is_spam)
        return torch.cat(right).double()


class StackedFinetune(StackOfModels[FinetuneModel]):
    """R runs of one shape, above the same frozen part, under vmap."""

    def __init__(
        self, runs: Sequence[Run[FinetuneArm]], data: FinetuneData, device: torch.device
    ) -> None:
        super().__init__([FinetuneModel(run, data, device) for run in runs])
        self.losses = vmap(self._loss)

    def gradients(self, *batch: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        leaves = {name: p.detach().requires_grad_() for name, p in self.parameters.items()}
        with torch.enable_grad(), warnings.catch_warnings():
            # attention has no batching rule, so it is called run by run
            warnings.filterwarnings("ignore", "There is a performance drop", UserWarning)
            losses = self.losses(leaves, *batch)  # [R]
            gradients = torch.autograd.grad(losses.sum(), list(leaves.values()))
        return losses.detach(), dict(zip(leaves, gradients, strict=True))

    def _loss(self, parameters: dict[str, Tensor], *batch: Tensor) -> Tensor:
        """Return the loss of one run."""
        model = self.models[0]
        x, read, is_spam, *words = batch
        given = (x, read, words[0] if words else None, model.arm.causal)
        answers = functional_call(model.module, parameters, given)
        return F.cross_entropy(answers, is_spam, ignore_index=model.arm.ignored_label)


class Finetuning:
    """GPTs that are finetuned to tell spam from ham."""

    monitor = None
    load_from, reference, stacked = FinetuneData, FinetuneModel, StackedFinetune

    def load(self, arm: FinetuneArm, device: torch.device) -> FinetuneData:
        if arm.start == "random":
            return FinetuneData(arm, None, device)
        return FinetuneData(arm, load_weights(arm.size), device)


STUDY = Finetuning()
