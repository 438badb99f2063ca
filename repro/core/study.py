"""What a study gives the core: its data, and its model in one or two forms.

The `reference` is the plain single model a reader recognises from the paper, trained by autograd;
the optional `stacked` form holds many runs at once, with a leading run axis on every tensor. The
two are tested to agree, which makes the readable one vouch for the fast one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from repro.arm import Run

Measures = dict[str, float | list[float]]
"""What is measured of one run at one time: scalars, and lists such as one value a block.

A measure that has no value in a run is left out there."""


class Data(Protocol):
    """The examples that the runs of one program train on."""

    def epoch(self, seed: int, number: int) -> Tensor:
        """What a run sees in an epoch, in order: int64 [N, columns], one line an example.

        The columns are the study's own: which example it is, and how it is augmented.
        """

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Lines of epochs [R, B, columns] to tensors [R, B, ...], inputs first."""


class ReferenceModel(Protocol):
    """One run as plain PyTorch."""

    @property
    def module(self) -> nn.Module:
        """Holds every parameter; those with `requires_grad` are trained."""

    def loss(self, *batch: Tensor) -> tuple[Tensor, Tensor]:
        """The objective to differentiate, and the loss to report; both scalars."""

    def lr_scales(self) -> Mapping[str, float]:
        """Learning-rate scale by parameter name, where it is not 1."""

    def measure(self) -> Measures:
        """Evaluate the model as it stands."""


class StackedModel(Protocol):
    """Several runs of one program, every tensor with a leading run axis R."""

    parameters: dict[str, Tensor]

    def trained_rows(self, name: str) -> Sequence[bool]:
        """Which of the R runs train this parameter."""

    def lr_scales(self, name: str) -> Sequence[float]:
        """Learning-rate scale of this parameter in each of the R runs."""

    def gradients(self, *batch: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Losses [R], and gradients [r, ...] for the first r <= R runs of each parameter.

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
        """The data of an arm, on the device."""

    def reference(self, run: Run, data: Any, device: torch.device) -> ReferenceModel:
        """One run as plain PyTorch, at its initialisation."""

    def stacked(self, runs: Sequence[Run], data: Any, device: torch.device) -> StackedModel:
        """Runs of one program as one model, at their initialisation; row r is `runs[r]`.

        Asked for only where the arm says that it `stacks`.
        """


@runtime_checkable
class TrainsOutside(Protocol):
    """An experiment whose training is a black box: of a run, nothing is known but its measures."""

    def train_outside(self, run: Run) -> Measures:
        """Train a run to its end, and measure it."""
