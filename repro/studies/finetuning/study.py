"""The study of source 003: runs of finetuning by autograd, one alone or many as one.

Shapes: R runs, B messages, T tokens, Q places that are read, d width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from repro.arm import Run
from repro.core.models import ReferenceBase, StackOfModels
from repro.core.study import Measures
from repro.studies.finetuning.arms import FinetuneArm
from repro.studies.finetuning.data import CHUNK, FinetuneData, Part
from repro.studies.finetuning.gpt2 import load_weights
from repro.studies.finetuning.model import Sight, started


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
    """R runs of one shape, above the same frozen part."""

    def __init__(
        self, runs: Sequence[Run[FinetuneArm]], data: FinetuneData, device: torch.device
    ) -> None:
        super().__init__([FinetuneModel(run, data, device) for run in runs])
        self.arm = runs[0].arm

    def gradients(
        self, x: Tensor, read: Tensor, is_spam: Tensor, words: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        leaves = {name: p.detach().requires_grad_() for name, p in self.parameters.items()}
        ignored = self.arm.ignored_label
        with torch.enable_grad():
            answers = self._answers(leaves, x, read, words).flatten(0, 1)  # [R*B, 2]
            of_each = F.cross_entropy(
                answers, is_spam.flatten(), ignore_index=ignored, reduction="none"
            ).view(is_spam.shape)
            losses = of_each.sum(1) / (is_spam != ignored).sum(1)  # [R]
            gradients = torch.autograd.grad(losses.sum(), list(leaves.values()))
        return losses.detach(), dict(zip(leaves, gradients, strict=True))

    def _answers(
        self, p: Mapping[str, Tensor], x: Tensor, read: Tensor, words: Tensor | None
    ) -> Tensor:
        """Turn features [R, B, T, d] into answers [R, B, 2]."""
        sight = Sight(self.arm.causal, None if words is None else words.flatten(0, 1))
        layers = self.arm.shape.layers
        h = x
        for place in range(self.arm.frozen_blocks, layers):
            is_read = place == layers - 1 and self.arm.token != "mean"
            h = self._block(p, f"blocks.{place}.", h, sight, read.flatten() if is_read else None)
        if self.arm.trained_blocks:
            h = _norm(p, "norm", h)
        return _linear(p, "head", h).mean(2)

    def _block(
        self, p: Mapping[str, Tensor], name: str, x: Tensor, sight: Sight, read: Tensor | None
    ) -> Tensor:
        """Apply a block: [R, B, T, d] -> [R, B, Q, d]."""
        normed = _norm(p, f"{name}norm_attention", x)
        at = name + "attention."
        q = self._heads(_linear(p, f"{at}query", _at(normed, read)))  # [R*B, H, Q, d/H]
        k, v = (self._heads(_linear(p, f"{at}{part}", normed)) for part in ("key", "value"))
        mask = sight.mask(x.shape[2], read, x.device)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        rows = mixed.transpose(1, 2).reshape(*x.shape[:2], -1, x.shape[3])
        h = _at(x, read) + _linear(p, f"{at}out", rows)
        fed = F.gelu(
            _linear(p, f"{name}up", _norm(p, f"{name}norm_feed_forward", h)), approximate="tanh"
        )
        return h + _linear(p, f"{name}down", fed)

    def _heads(self, x: Tensor) -> Tensor:  # [R, B, T, d] -> [R*B, H, T, d/H]
        runs, messages, length, _ = x.shape
        return x.view(runs * messages, length, self.arm.shape.heads, -1).transpose(1, 2)


def _linear(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    """Apply each run's linear layer: [R, B, T, in] -> [R, B, T, out]."""
    weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
    out = torch.baddbmm(bias[:, None], x.flatten(1, 2), weight.mT)
    return out.view(*x.shape[:3], -1)


def _norm(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    weight, bias = (p[f"{name}.{kind}"][:, None, None] for kind in ("weight", "bias"))
    return F.layer_norm(x, x.shape[-1:]) * weight + bias


def _at(x: Tensor, read: Tensor | None) -> Tensor:
    """Return only the places `read` [R*B], if given: [R, B, T, d] -> [R, B, 1, d]."""
    if read is None:
        return x
    places = read.view(*x.shape[:2], 1, 1).expand(-1, -1, 1, x.shape[3])
    return x.gather(2, places)


class Finetuning:
    """GPTs that are finetuned to tell spam from ham."""

    monitor = None
    load_from, reference, stacked = FinetuneData, FinetuneModel, StackedFinetune

    def load(self, arm: FinetuneArm, device: torch.device) -> FinetuneData:
        if arm.start == "random":
            return FinetuneData(arm, None, device)
        return FinetuneData(arm, load_weights(arm.size), device)


STUDY = Finetuning()
