"""Runs of one module as one program by `torch.func`, with a leading run axis on all it holds.

Buffers, such as running statistics, have a row for each run; dropout's masks and whatever else is
drawn are the ones that each run draws alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from repro.arm import Run
from repro.core.models import StackedBase, stacked
from repro.core.study import Measures
from repro.own.row_by_row import DropoutAsAlone, RowByRow

Named = dict[str, Tensor]


class ModuleFunctions(Protocol):
    """The functions of a study that a step and a measurement call."""

    loss_of: Callable[..., Tensor]

    def measure(self, module: nn.Module, run: Run[Any]) -> Measures:
        """Evaluate a module."""


class Alone(Protocol):
    """A run as it is trained alone."""

    study: Any
    run: Run[Any]
    module: nn.Module


class _Objective(nn.Module):
    """The loss as a module, so that whatever the loss does with the module sees its parameters."""

    def __init__(self, study: ModuleFunctions, module: nn.Module, arm: Any) -> None:
        super().__init__()
        self.study, self.module, self.arm = study, module, arm

    def forward(self, *batch: Tensor) -> Tensor:
        return self.study.loss_of(self.module, self.arm, *batch)


class ManyModules(StackedBase):
    """Many runs of one module as one, with a leading run axis on its parameters.

    Its buffers are among them, as parameters that nothing trains: so they are saved with a run, go
    on from a checkpoint, and leave with their run.
    """

    def __init__(self, models: Sequence[Alone]) -> None:
        self.study: ModuleFunctions = models[0].study
        self.runs = [model.run for model in models]
        self.module = models[0].module
        self.trained = {name for name, p in self.module.named_parameters() if p.requires_grad}
        self.buffers = {name for name, _ in self.module.named_buffers()}
        self.parameters = stacked([_held_by(model.module) for model in models])
        self.goes_row_by_row: bool | None = None  # until a step has told

    @property
    def can_be_recorded(self) -> bool:
        """True once a step went row by row nowhere, for which Python reads the seeds of rows."""
        return self.goes_row_by_row is False

    def trained_rows(self, name: str) -> Sequence[bool]:
        return [name in self.trained] * self.rows

    def gradients(self, *batch: Tensor) -> tuple[Tensor, Named]:
        draws, *rest = batch
        groups = self._rows_by_arm()
        if len(groups) == 1:
            losses, gradients, buffers = self._step(self.runs[0].arm, self.parameters, draws, rest)
        else:
            losses, gradients, buffers = self._by_arm(groups, draws, rest)
        for name, buffer in buffers.items():
            self.parameters[name].copy_(buffer)
        return losses, gradients

    def _by_arm(
        self, groups: Mapping[Any, list[int]], draws: Tensor, batch: Sequence[Tensor]
    ) -> tuple[Tensor, Named, Named]:
        """Take the step of each arm's rows, and put them together again in their order."""
        done: dict[int, tuple[Tensor, Named, Named]] = {}
        for arm, rows in groups.items():
            own = {name: _rows(p, rows) for name, p in self.parameters.items()}
            parts = [_rows(part, rows) for part in batch]
            losses, *named = self._step(arm, own, _rows(draws, rows), parts)
            for place, row in enumerate(rows):
                gradients, buffers = ({n: x[place] for n, x in each.items()} for each in named)
                done[row] = losses[place], gradients, buffers
        in_order = [done[row] for row in range(self.rows)]
        losses = torch.stack([loss for loss, _, _ in in_order])
        return losses, stacked([g for _, g, _ in in_order]), stacked([b for _, _, b in in_order])

    def _rows_by_arm(self) -> dict[Any, list[int]]:
        """Group the rows of runs by arm: the loss may read a number that runs do not share."""
        groups: dict[Any, list[int]] = {}
        for row, run in enumerate(self.runs):
            groups.setdefault(run.arm, []).append(row)
        return groups

    def _step(
        self, arm: Any, held: Mapping[str, Tensor], draws: Tensor, batch: Sequence[Tensor]
    ) -> tuple[Tensor, Named, Named]:
        """Return losses, gradients, and the buffers as they are after the step."""
        if self.goes_row_by_row is False:
            try:
                return self._differentiated(arm, held, batch, randomness="error")
            except RuntimeError as error:
                if "randomness error mode" not in str(error):  # else it begins to draw now
                    raise
        with RowByRow(draws.tolist()) as rows, DropoutAsAlone():
            done = self._differentiated(arm, held, batch, randomness="different")
        self.goes_row_by_row = rows.was_needed
        return done

    def _differentiated(
        self, arm: Any, held: Mapping[str, Tensor], batch: Sequence[Tensor], *, randomness: str
    ) -> tuple[Tensor, Named, Named]:
        trained = {name: p for name, p in held.items() if name in self.trained}
        # buffers are copies: a step that fails, or is made once more, must not have changed them
        fixed = {n: p.clone() if n in self.buffers else p for n, p in held.items()}
        fixed = {name: p for name, p in fixed.items() if name not in self.trained}
        objective = _Objective(self.study, self.module, arm)

        def loss(trained: Named, fixed: Named, *batch: Tensor) -> tuple[Tensor, Named]:  # of a run
            named = {f"module.{name}": p for name, p in {**trained, **fixed}.items()}
            value: Tensor = functional_call(objective, named, tuple(batch))
            return value, {name: named[f"module.{name}"] for name in self.buffers}

        per_run = vmap(grad_and_value(loss, has_aux=True), randomness=randomness)
        # kernel: the other kernels of attention have no form for many runs, and go one by one
        with sdpa_kernel(SDPBackend.MATH):
            gradients, (losses, buffers) = per_run(trained, fixed, *batch)
        return losses, gradients, buffers

    def measure(self) -> list[Measures]:
        measured = []
        for row, run in enumerate(self.runs):
            for name, tensor in _held_by(self.module).items():
                tensor.copy_(self.parameters[name][row])
            measured.append(self.study.measure(self.module, run))
        return measured

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        self.runs = [self.runs[row] for row in rows]


def _held_by(module: nn.Module) -> Named:
    """Return the parameters and buffers of a module."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _rows(tensor: Tensor, rows: Sequence[int]) -> Tensor:
    """Return these rows, without a list as an index, which is copied to a device at each step."""
    return torch.stack([tensor[row] for row in rows])
