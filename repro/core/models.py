"""Base classes of models, with the methods that most studies share; see `repro.core.study`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from repro.core.study import Measures


class ReferenceBase:
    """A reference model with one learning rate for all parameters."""

    def lr_scales(self) -> Mapping[str, float]:
        return {}


class StackedBase:
    """A stacked model that trains all parameters of all runs, with one learning rate per run."""

    parameters: dict[str, Tensor]

    @property
    def can_be_recorded(self) -> bool:
        return True

    @property
    def rows(self) -> int:
        """R, the number of runs."""
        return len(next(iter(self.parameters.values())))

    def trained_rows(self, name: str) -> Sequence[bool]:
        return [True] * self.rows

    def lr_scales(self, name: str) -> Sequence[float]:
        return [1.0] * self.rows

    def keep(self, rows: Sequence[int]) -> None:
        self.parameters = picked(self.parameters, rows)


class Measurable(Protocol):
    """The part of a reference model that its evaluation needs."""

    @property
    def module(self) -> nn.Module: ...

    def measure(self) -> Measures: ...


Model = TypeVar("Model", bound=Measurable)


class StackOfModels(StackedBase, Generic[Model]):
    """Reference models with stacked parameters; each gets its own row back to be measured."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models = list(models)
        self.parameters = stacked([dict(model.module.named_parameters()) for model in models])

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        self.models = [self.models[row] for row in rows]

    def measure(self) -> list[Measures]:
        measured = []
        for row, model in enumerate(self.models):
            model.module.load_state_dict({name: p[row] for name, p in self.parameters.items()})
            measured.append(model.measure())
        return measured


def stacked(
    runs: Sequence[Mapping[str, Tensor]], device: torch.device | None = None
) -> dict[str, Tensor]:
    """Stack the tensors of R runs by name, without their gradients: [...] to [R, ...]."""
    return {
        name: torch.stack([tensors[name].detach() for tensors in runs]).to(device)
        for name in runs[0]
    }


def picked(tensors: Mapping[str, Tensor], rows: Sequence[int]) -> dict[str, Tensor]:
    """Return these rows of stacked tensors."""
    return {name: tensor[list(rows)] for name, tensor in tensors.items()}
