"""An ordinary PyTorch module, its loss and its evaluation as a study.

All that the module draws from torch's global generator, at its initialisation and in training
(dropout), comes from the run's seed. Many runs are trained as one by `torch.func`. If the module
does not allow this, they are trained one after another.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import Dataset

from repro.arm import Run
from repro.core.models import ReferenceBase, StackedBase, stacked
from repro.core.program import LoopProgram
from repro.core.randomness import drawing_from
from repro.core.streams import stream_seed
from repro.core.study import Data, Measures
from repro.own.brought import Brought, BroughtLoop, Examples, LoadedExamples
from repro.own.row_by_row import DropoutAsAlone, RowByRow
from repro.own.training_run import checked

Named = dict[str, Tensor]


class ModuleStudy:
    """A study made of four functions; the arm is a `repro.own.arm.ModuleArm`.

    `examples` returns tensors, or a map-style `Dataset`, whose items are loaded when needed.

    >>> STUDY = ModuleStudy(
    ...     module=lambda arm: nn.Sequential(
    ...         nn.Linear(2, arm.width), nn.Tanh(), nn.Linear(arm.width, 2)
    ...     ),
    ...     examples=lambda arm: (points, classes),  # tensors, one line an example
    ...     loss=lambda module, arm, x, y: F.cross_entropy(
    ...         module(x), y, label_smoothing=arm.smoothing
    ...     ),
    ...     measure=lambda module, arm: {"accuracy": accuracy(module(unseen), unseen_classes)},
    ... )

    A study can have an optimiser and a schedule of its own; its runs are then trained one at a
    time. A schedule is stepped after each of `steps` batches:

    >>> STUDY = ModuleStudy(
    ...     module=..., examples=..., loss=..., measure=...,
    ...     optimiser=lambda parameters, arm: Lion(parameters, lr=arm.recipe.lr),
    ...     schedule=lambda optimiser, arm, steps: OneCycleLR(optimiser, 0.1, total_steps=steps),
    ... )
    """

    def __init__(
        self,
        *,
        module: Callable[[Any], nn.Module],
        examples: Callable[[Any], Any],
        loss: Callable[..., Tensor],
        measure: Callable[[nn.Module, Any], Mapping[str, float]],
        monitor: str | None = None,
        optimiser: Callable[..., torch.optim.Optimizer] | None = None,
        schedule: Callable[..., Any] | None = None,
    ) -> None:
        self.module, self.examples, self.monitor = module, examples, monitor
        self.loss_of, self.measure_of = loss, measure
        self.brought = Brought(optimiser, schedule)

    def load(self, arm: Any, device: torch.device) -> Data:
        """Return the examples of an arm: on the device, or a data set that is loaded by item."""
        given = self.examples(arm)
        is_loaded = isinstance(given, Dataset)
        tensors = [] if is_loaded else [tensor.to(device) for tensor in given]
        lengths = {len(given)} if is_loaded else {len(tensor) for tensor in tensors}
        if lengths != {arm.examples}:
            raise ValueError(
                f"{type(arm).__name__} says examples={arm.examples}, but its study's examples(arm)"
                f" gives {sorted(lengths)} of them; make them agree."
            )
        data: Data = (
            LoadedExamples(given, workers=arm.workers, device=device)
            if is_loaded
            else Examples(tensors)
        )
        first = data.epoch(0, 0)[None, :1].to(device)
        self._require_arguments(arm, data.batch(first)[1:])
        return data

    def _require_arguments(self, arm: Any, batch: Sequence[Tensor]) -> None:
        try:
            inspect.signature(self.loss_of).bind(None, arm, *batch)
        except TypeError as error:
            raise TypeError(
                f"The loss of {type(arm).__name__}'s study cannot be called ({error}); it is given"
                f" the module, the arm and {len(batch)} tensors of a batch:"
                " loss(module, arm, x, …)."
            ) from error

    def reference(self, run: Run[Any], data: Data, device: torch.device) -> OneModule:
        return OneModule(self, run, device)

    def loop(self, runs: Sequence[Run[Any]], data: Data, device: torch.device) -> LoopProgram:
        """Return the program of one training, with the study's own optimiser, if any."""
        if not self.brought:
            return LoopProgram(self, runs, data, device)
        return BroughtLoop(self, runs, data, device, brought=self.brought)

    def stacked(self, runs: Sequence[Run[Any]], data: Data, device: torch.device) -> ManyModules:
        if self.brought:
            raise ValueError("its study has an optimiser or a schedule of its own")
        return ManyModules([OneModule(self, run, device) for run in runs])

    def measure(self, module: nn.Module, run: Run[Any]) -> Measures:
        """Evaluate a module without dropout."""
        was_training = module.training
        module.eval()
        with (
            torch.no_grad(),
            drawing_from(stream_seed(run.seed, "measure")),
            _saying_where(module),
        ):
            measured = checked(run.arm, self.measure_of(module, run.arm), by="measure(module, arm)")
        module.train(was_training)
        return measured


@contextmanager
def _saying_where(module: nn.Module) -> Iterator[None]:
    """Add advice to torch's error about tensors on different devices."""
    try:
        yield
    except RuntimeError as error:
        if "on the same device" not in str(error):
            raise
        device = next(module.parameters()).device
        raise ValueError(
            f"measure(module, arm) uses tensors that are not on {device}, where the module is; move"
            " them there, with x.to(next(module.parameters()).device)."
        ) from error


class OneModule(ReferenceBase):
    """One run as plain PyTorch."""

    def __init__(self, study: ModuleStudy, run: Run[Any], device: torch.device) -> None:
        self.study, self.run = study, run
        with drawing_from(stream_seed(run.seed, "initial")):
            self.module = study.module(run.arm).to(device)

    def loss(self, *batch: Tensor) -> tuple[Tensor, Tensor]:
        draws, *rest = batch
        with drawing_from(int(draws)):
            loss = self.study.loss_of(self.module, self.run.arm, *rest)
        return loss, loss

    def measure(self) -> Measures:
        return self.study.measure(self.module, self.run)


class _Objective(nn.Module):
    """The loss as a module, so that `functional_call` replaces all parameters that it uses."""

    def __init__(self, study: ModuleStudy, module: nn.Module, arm: Any) -> None:
        super().__init__()
        self.study, self.module, self.arm = study, module, arm

    def forward(self, *batch: Tensor) -> Tensor:
        return self.study.loss_of(self.module, self.arm, *batch)


class ManyModules(StackedBase):
    """Many runs of one arm as one by `torch.func`, with a leading run axis on its parameters.

    Buffers, such as running statistics, count as parameters that are not trained. So checkpoints
    have them, and they leave with their run. Each run draws what it draws alone, such as masks of
    dropout.
    """

    def __init__(self, models: Sequence[OneModule]) -> None:
        self.study = models[0].study
        self.runs = [model.run for model in models]
        self.module = models[0].module
        self.objective = _Objective(self.study, self.module, self.runs[0].arm)
        self.trained = {name for name, p in self.module.named_parameters() if p.requires_grad}
        self.buffers = {name for name, _ in self.module.named_buffers()}
        self.parameters = stacked([_held_by(model.module) for model in models])
        self.goes_row_by_row: bool | None = None  # unknown before the first step

    @property
    def can_be_recorded(self) -> bool:
        """True after a step without operations row by row: these read the seeds in Python."""
        return self.goes_row_by_row is False

    def trained_rows(self, name: str) -> Sequence[bool]:
        return [name in self.trained] * self.rows

    def gradients(self, *batch: Tensor) -> tuple[Tensor, Named]:
        draws, *rest = batch
        losses, gradients, buffers = self._step(draws, rest)
        for name, buffer in buffers.items():
            self.parameters[name].copy_(buffer)
        return losses, gradients

    def _step(self, draws: Tensor, batch: Sequence[Tensor]) -> tuple[Tensor, Named, Named]:
        """Return losses, gradients, and the buffers as they are after the step."""
        if self.goes_row_by_row is False:
            try:
                return self._differentiated(batch, randomness="error")
            except RuntimeError as error:
                if "randomness error mode" not in str(error):  # else it begins to draw now
                    raise
        with RowByRow(draws.tolist()) as rows, DropoutAsAlone():
            done = self._differentiated(batch, randomness="different")
        self.goes_row_by_row = rows.was_needed
        return done

    def _differentiated(
        self, batch: Sequence[Tensor], *, randomness: str
    ) -> tuple[Tensor, Named, Named]:
        trained = {name: p for name, p in self.parameters.items() if name in self.trained}
        # buffers are copies: a step that fails, or is made once more, must not have changed them
        fixed = {n: p.clone() if n in self.buffers else p for n, p in self.parameters.items()}
        fixed = {name: p for name, p in fixed.items() if name not in self.trained}

        def loss(trained: Named, fixed: Named, *batch: Tensor) -> tuple[Tensor, Named]:  # of a run
            named = {f"module.{name}": p for name, p in {**trained, **fixed}.items()}
            value: Tensor = functional_call(self.objective, named, tuple(batch))
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
