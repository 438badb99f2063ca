"""The study of source 001: one run of the language model, trained by autograd."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from repro.arm import Run
from repro.core.models import ReferenceBase
from repro.core.study import Measures
from repro.studies.context_vector.arms import AtTheStart, ContextArm
from repro.studies.context_vector.data import ContextData
from repro.studies.context_vector.model import (
    CHUNK,
    Answers,
    ContextLanguageModel,
    initial_parameters,
    mean_loss,
    measures_of,
    spread,
)
from repro.studies.context_vector.stacked import StackedContext

FIRST = "layers.0.weight"


class ReferenceContext(ReferenceBase):
    """One run of the language model."""

    def __init__(self, run: Run[ContextArm], data: ContextData, device: torch.device) -> None:
        self.arm, self.data = run.arm, data
        self.module = ContextLanguageModel(run.arm)
        self.module.load_state_dict(initial_parameters(run.arm, run.seed))
        self.module.to(device)

    def loss(self, x: Tensor, y: Tensor, keys: Tensor | None) -> tuple[Tensor, Tensor]:
        logits, _ = self.module(x, keys=keys)
        loss = mean_loss(logits[None], y[None])[0]
        return loss, loss

    def measure(self) -> Measures:
        train = self.data.train[: self.arm.validation_sequences]
        validation, logit_spread = self._answers(self.data.validation)
        return measures_of(
            self.arm,
            validation=validation,
            train=self._answers(train)[0],
            logit_spread=logit_spread,
            gradient_norms=self._gradient_norms(),
            parameters=sum(p.numel() for p in self.module.parameters()),
            sequences=self.data.available,
        )

    def _answers(self, sequences: Tensor) -> tuple[Answers, float]:
        """Return the answers to all sequences, and the spread of the answers to the first chunk."""
        answers, spreads = [], []
        for chunk in torch.split(sequences, CHUNK):
            logits, y = self.module(chunk[:, :-1])[0], chunk[:, 1:]
            answers.append(Answers.of(logits, y))
            spreads.append(float(spread(logits[None], y)))
        return Answers.joined(answers), spreads[0]

    def _gradient_norms(self) -> tuple[float, float]:
        """Return the gradient norms of all parameters and of the stack, on the first batch."""
        batch = self.data.train[: self.arm.recipe.batch]
        parameters = dict(self.module.named_parameters())
        with torch.enable_grad():
            loss, _ = self.loss(batch[:, :-1], batch[:, 1:], None)
            gradients = torch.autograd.grad(loss, list(parameters.values()))
        squares = {n: g.square().sum() for n, g in zip(parameters, gradients, strict=True)}
        stack = [square for name, square in squares.items() if name.startswith("layers.")]
        return float(sum(squares.values()).sqrt()), float(sum(stack).sqrt())  # type: ignore[union-attr]


class StartData(ContextData):
    """The measured sequences; all would need gigabytes at the documented size."""

    def __init__(self, arm: AtTheStart, device: torch.device) -> None:
        few = {"sequences": arm.looked_at, "validation_sequences": arm.looked_at}
        super().__init__(arm.but(**few), device)
        self.arm = arm


class StartModel(ReferenceContext):
    """One untrained network."""

    arm: AtTheStart

    def measure(self) -> Measures:
        sequences = self.data.train[: self.arm.looked_at]
        x, y = sequences[:, :-1], sequences[:, 1:]
        with torch.enable_grad():
            loss, _ = self.loss(x, y, None)
            (gradient,) = torch.autograd.grad(loss, [dict(self.module.named_parameters())[FIRST]])
        count = sum(p.numel() for p in self.module.parameters())
        return {
            "parameters": count,
            "parameters_a_sequence": count / self.arm.sequences,
            "sequences": self.data.available,
            "first_layer_gradient_norm": float(gradient.norm()),
            "logit_spread": float(spread(self.module(x)[0][None], y)),
        }


class ContextVectors:
    """A language model that passes a context vector from word to word."""

    monitor = "validation_loss"
    stacked = StackedContext

    def load(self, arm: ContextArm, device: torch.device) -> ContextData:
        return StartData(arm, device) if isinstance(arm, AtTheStart) else ContextData(arm, device)

    def reference(self, run: Run[Any], data: ContextData, device: torch.device) -> ReferenceContext:
        model = StartModel if isinstance(run.arm, AtTheStart) else ReferenceContext
        return model(run, data, device)


STUDY = ContextVectors()
