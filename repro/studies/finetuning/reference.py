"""One run of finetuning, trained by autograd."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.models import ReferenceBase
from repro.core.study import Measures
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.classifier import start
from repro.studies.finetuning.data import CHUNK, FinetuneData, Part


class FinetuneModel(ReferenceBase):
    """One run of finetuning."""

    def __init__(self, run: Run[FinetuneArm], data: FinetuneData, device: torch.device) -> None:
        self.arm, self.data = run.arm, data
        pretrained = data.pretrained if self.arm.start == "pretrained" else None
        self.module = start(
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
