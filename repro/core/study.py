"""The interface between a study and the core: its data, and its model in one or two forms.

The `reference` is the plain single model that a reader recognises from the paper, trained by
autograd. The optional `stacked` form holds many runs at once, with a leading run axis on every
tensor. Tests compare the two, so that the readable form shows that the fast one is right.

`repro.core.models` has base classes with the methods that most models share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from repro.arm import Run

Measures = dict[str, float | list[float]]
"""The measures of one run at one time by name: numbers, or lists, such as one value per block.

A measure without a value in a run is left out."""


class Data(Protocol):
    """The examples that the runs of one program train on."""

    def epoch(self, seed: int, number: int) -> Tensor:
        """Return the examples of an epoch in a run's order, as lines: int64 [N, columns].

        The study defines the columns: the index of the example, its augmentation.
        """

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Turn lines of an epoch [R, B, columns] into tensors [R, B, ...], inputs first."""


class ReferenceModel(Protocol):
    """One run as plain PyTorch."""

    @property
    def module(self) -> nn.Module:
        """The module with all parameters; those with `requires_grad` are trained."""

    def loss(self, *batch: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective to differentiate, and the loss to report; both scalars."""

    def lr_scales(self) -> Mapping[str, float]:
        """Return a factor of the learning rate by parameter name; the default is 1."""

    def measure(self) -> Measures:
        """Evaluate the current model."""


class StackedModel(Protocol):
    """Several runs of one program, every tensor with a leading run axis R."""

    parameters: dict[str, Tensor]

    @property
    def can_be_recorded(self) -> bool:
        """True where Python does not wait for results within a step, so that CUDA can replay it."""

    def trained_rows(self, name: str) -> Sequence[bool]:
        """Return for each of the R runs whether it trains this parameter."""

    def lr_scales(self, name: str) -> Sequence[float]:
        """Return the factor of this parameter's learning rate in each of the R runs."""

    def gradients(self, *batch: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return losses [R], and for each parameter gradients [r, ...] of the first r <= R runs.

        Rows past r, and parameters that are left out, are not trained.
        """

    def measure(self) -> list[Measures]:
        """Evaluate the R current models."""

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with only these runs, in this order."""


class Study(Protocol):
    """An experiment that can be trained."""

    monitor: str | None
    """The measure for early stopping (lower is better); None without one."""

    def load(self, arm: Any, device: torch.device) -> Data:
        """Load the data of an arm onto the device."""

    def reference(self, run: Run[Any], data: Any, device: torch.device) -> ReferenceModel:
        """Return the initial model of one run as plain PyTorch."""

    def stacked(self, runs: Sequence[Run[Any]], data: Any, device: torch.device) -> StackedModel:
        """Return the initial models of several runs as one; row r is `runs[r]`.

        Called only where the arm `stacks_on` the device.
        """
