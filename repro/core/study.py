"""The contract between a study and the core: its data, and its model in one or two forms.

The `reference` is the plain single model that a reader recognises from the paper, trained by
autograd. The optional `stacked` form holds many runs at once, with a leading run axis on every
tensor. Tests hold the two against each other, so that the readable one vouches for the fast one.

`repro.core.models` has base classes with the answers that most models give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from repro.arm import Run

Measures = dict[str, float | list[float]]
"""The measures of one run at one time by name: numbers, and lists such as one value a block.

A measure that has no value in a run is left out there."""


class Data(Protocol):
    """The examples that the runs of one program train on."""

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return the examples of an epoch in a run's order: int64 [N, columns], one line each.

        The columns are the study's own: which example it is, and how it is augmented.
        """

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines of epochs [R, B, columns] into tensors [R, B, ...], inputs first."""


class ReferenceModel(Protocol):
    """One run as plain PyTorch."""

    @property
    def module(self) -> nn.Module:
        """Holds every parameter; those with `requires_grad` are trained."""

    def loss(self, *batch: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective to differentiate, and the loss to report; both scalars."""

    def lr_scales(self) -> Mapping[str, float]:
        """Return the factor of the learning rate by parameter name, where it is not 1."""

    def measure(self) -> Measures:
        """Evaluate the model as it stands."""


class StackedModel(Protocol):
    """Several runs of one program, every tensor with a leading run axis R."""

    parameters: dict[str, Tensor]

    @property
    def can_be_recorded(self) -> bool:
        """True where Python waits for nothing that a step computes, so that CUDA can replay it."""

    def trained_rows(self, name: str) -> Sequence[bool]:
        """Return for each of the R runs whether it trains this parameter."""

    def lr_scales(self, name: str) -> Sequence[float]:
        """Return the factor of this parameter's learning rate in each of the R runs."""

    def gradients(self, *batch: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return losses [R], and gradients [r, ...] for the first r <= R runs of each parameter.

        Rows past r, and parameters left out, are not trained by any run.
        """

    def measure(self) -> list[Measures]:
        """Evaluate the R models as they stand."""

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these runs alone, in this order."""


class Study(Protocol):
    """An experiment that can be trained."""

    monitor: str | None
    """The measure that early stopping watches (lower is better), for recipes that stop early."""

    def load(self, arm: Any, device: torch.device) -> Data:
        """Load the data of an arm onto the device."""

    def reference(self, run: Run[Any], data: Any, device: torch.device) -> ReferenceModel:
        """Build one run as plain PyTorch, at its initialisation."""

    def stacked(self, runs: Sequence[Run[Any]], data: Any, device: torch.device) -> StackedModel:
        """Build runs of one program as one model, at their initialisation; row r is `runs[r]`.

        Called only where the arm `stacks_on` the device.
        """


@runtime_checkable
class TrainsOutside(Protocol):
    """An experiment whose training is a black box that only its measures come out of."""

    def train_outside(self, run: Run[Any]) -> Measures:
        """Train a run to its end, and measure it."""
