"""An ordinary PyTorch module, its loss and its evaluation as a study.

Everything that the module draws from torch's global generator, at its initialisation and in
training (dropout), comes from the run's seed. Many runs are trained as one by `torch.func`, where
the module allows it; where it does not, one after another.
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
from repro.core.randomness import drawing_from
from repro.core.streams import stream
from repro.core.study import Measures
from repro.own.loaded import Loader
from repro.own.measured import checked
from repro.own.programs import Brought

SEEDS = 2**62


class ModuleStudy:
    """A study made of four functions; the arm is a `repro.own.arm.ModuleArm`.

    `examples` gives tensors, or a map-style `Dataset`, whose items are loaded as they are needed.

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

    Where the recipe's optimisers and schedules are not enough, it brings its own, and its runs are
    trained one at a time; a schedule is stepped after each of `steps` batches:

    >>> ModuleStudy(
    ...     ...,
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

    def load(self, arm: Any, device: torch.device) -> Examples:
        """Move the examples of an arm to the device, or have them loaded one by one."""
        given = self.examples(arm)
        if isinstance(given, Dataset):
            return self._loaded(arm, given, device)
        tensors = [tensor.to(device) for tensor in given]
        lengths = {len(tensor) for tensor in tensors}
        if lengths != {arm.examples}:
            raise ValueError(
                f"{type(arm).__name__} says examples={arm.examples}, but its study's examples(arm)"
                f" gives tensors of {sorted(lengths)} lines; make them agree."
            )
        self._require_arguments(arm, tensors)
        return Examples(tensors)

    def _loaded(self, arm: Any, given: Any, device: torch.device) -> LoadedExamples:
        if len(given) != arm.examples:
            raise ValueError(
                f"{type(arm).__name__} says examples={arm.examples}, but its study's examples(arm)"
                f" gives a data set of {len(given)}; make them agree."
            )
        loaded = LoadedExamples(given, arm.workers, device)
        first = loaded.batch(loaded.epoch(0, 0)[None, :1])
        self._require_arguments(arm, first[1:])
        return loaded

    def _require_arguments(self, arm: Any, tensors: Sequence[Tensor]) -> None:
        try:
            inspect.signature(self.loss_of).bind(None, arm, *tensors)
        except TypeError as error:
            raise TypeError(
                f"The loss of {type(arm).__name__}'s study cannot be called ({error}); it is given"
                f" the module, the arm and {len(tensors)} tensors of a batch:"
                " loss(module, arm, x, …)."
            ) from error

    def reference(self, run: Run[Any], data: Examples, device: torch.device) -> OneModule:
        return OneModule(self, run, device)

    def stacked(
        self, runs: Sequence[Run[Any]], data: Examples, device: torch.device
    ) -> ManyModules:
        return ManyModules([OneModule(self, run, device) for run in runs])

    def measure(self, module: nn.Module, run: Run[Any]) -> Measures:
        """Evaluate a module as its author does, without dropout."""
        was_training = module.training
        module.eval()
        with (
            torch.no_grad(),
            drawing_from(stream(run.seed, "measure").initial_seed()),
            _saying_where(module),
        ):
            measured = checked(run.arm, self.measure_of(module, run.arm), by="measure(module, arm)")
        module.train(was_training)
        return measured


@contextmanager
def _saying_where(module: nn.Module) -> Iterator[None]:
    """Add to torch's error about tensors on different devices what to do about it."""
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


def _lines(count: int, seed: int, number: int) -> Tensor:  # [N, 2]
    order = torch.randperm(count, generator=stream(seed, f"order/{number}"))
    draws = torch.randint(SEEDS, (count,), generator=stream(seed, f"draws/{number}"))
    return torch.stack([order, draws], dim=1)


class Examples:
    """Examples as lines of tensors, in a new random order in each epoch.

    The second column of a line seeds what a step draws whose batch starts with it.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors

    def epoch(self, seed: int, number: int) -> Tensor:  # [N, 2]
        return _lines(len(self.tensors[0]), seed, number)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        chosen = lines[..., 0]  # [R, B]
        return (lines[:, 0, 1], *(tensor[chosen] for tensor in self.tensors))


class LoadedExamples(Examples):
    """The same of a map-style data set, whose transforms draw from the second column too."""

    def __init__(self, given: Any, workers: int, device: torch.device) -> None:
        self.count = len(given)
        self.loader = Loader(given, workers=workers, device=device)
        self.device = device

    def epoch(self, seed: int, number: int) -> Tensor:  # [N, 2]
        lines = _lines(self.count, seed, number)
        self.loader.expect(lines)
        return lines

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        return (lines[:, 0, 1], *self.loader.batch(lines))


class OneModule(ReferenceBase):
    """A run as its author would write it."""

    def __init__(self, study: ModuleStudy, run: Run[Any], device: torch.device) -> None:
        self.study, self.run = study, run
        with drawing_from(stream(run.seed, "initial").initial_seed()):
            self.module = study.module(run.arm).to(device)

    def loss(self, draws: Tensor, *batch: Tensor) -> tuple[Tensor, Tensor]:
        with drawing_from(int(draws)):
            loss = self.study.loss_of(self.module, self.run.arm, *batch)
        return loss, loss

    def measure(self) -> Measures:
        return self.study.measure(self.module, self.run)


class _Objective(nn.Module):
    """The loss as a module, so that whatever the loss does with the module sees its parameters."""

    def __init__(self, study: ModuleStudy, module: nn.Module, arm: Any) -> None:
        super().__init__()
        self.study, self.module, self.arm = study, module, arm

    def forward(self, *batch: Tensor) -> Tensor:
        return self.study.loss_of(self.module, self.arm, *batch)


class ManyModules(StackedBase):
    """Many runs of one module as one, with a leading run axis on its parameters."""

    def __init__(self, models: Sequence[OneModule]) -> None:
        self.study = models[0].study
        self.runs = [model.run for model in models]
        self.module = models[0].module
        own = [dict(model.module.named_parameters()) for model in models]
        self.parameters = stacked(own)
        self.trained = {name for name, p in own[0].items() if p.requires_grad}
        for name, buffer in self.module.named_buffers():
            others = (dict(model.module.named_buffers())[name] for model in models)
            if not all(torch.equal(buffer, other) for other in others):
                raise ValueError(f"its buffer {name} is not the same at every seed")

    def trained_rows(self, name: str) -> Sequence[bool]:
        return [name in self.trained] * self.rows

    def gradients(self, draws: Tensor, *batch: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        groups = self._rows_by_arm()
        if len(groups) == 1:
            return self._gradients(self.runs[0].arm, self.parameters, batch)
        losses: dict[int, Tensor] = {}
        gradients: dict[int, dict[str, Tensor]] = {}
        for arm, rows in groups.items():
            own = {name: _rows(p, rows) for name, p in self.parameters.items()}
            of_rows, grads = self._gradients(arm, own, [_rows(part, rows) for part in batch])
            for place, row in enumerate(rows):
                losses[row] = of_rows[place]
                gradients[row] = {name: gradient[place] for name, gradient in grads.items()}
        in_order = [gradients[row] for row in range(self.rows)]
        return torch.stack([losses[row] for row in range(self.rows)]), stacked(in_order)

    def _rows_by_arm(self) -> dict[Any, list[int]]:
        """Group the rows of runs by arm: the loss may read a number that runs do not share."""
        groups: dict[Any, list[int]] = {}
        for row, run in enumerate(self.runs):
            groups.setdefault(run.arm, []).append(row)
        return groups

    def _gradients(
        self, arm: Any, parameters: Mapping[str, Tensor], batch: Sequence[Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        trained = {name: parameters[name] for name in parameters if name in self.trained}
        frozen = {name: p for name, p in parameters.items() if name not in self.trained}
        objective = _Objective(self.study, self.module, arm)

        def loss(
            trained: dict[str, Tensor], frozen: dict[str, Tensor], *batch: Tensor
        ) -> Tensor:  # of one run
            named = {f"module.{name}": p for name, p in {**trained, **frozen}.items()}
            value: Tensor = functional_call(objective, named, tuple(batch))
            return value

        # randomness: a draw would be the same for all runs, or depend on what is trained together
        # kernel: the other kernels of attention have no form for many runs, and go one by one
        per_run = vmap(grad_and_value(loss), randomness="error")
        with sdpa_kernel(SDPBackend.MATH):
            gradients, losses = per_run(trained, frozen, *batch)
        return losses, gradients

    def measure(self) -> list[Measures]:
        measured = []
        for row, run in enumerate(self.runs):
            for name, parameter in self.module.named_parameters():
                parameter.copy_(self.parameters[name][row])
            measured.append(self.study.measure(self.module, run))
        return measured

    def keep(self, rows: Sequence[int]) -> None:
        super().keep(rows)
        self.runs = [self.runs[row] for row in rows]


def _rows(tensor: Tensor, rows: Sequence[int]) -> Tensor:
    """Return these rows, without a list as an index, which is copied to a device at each step."""
    return torch.stack([tensor[row] for row in rows])
