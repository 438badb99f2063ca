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
from torch.utils.data import Dataset

from repro.arm import Run
from repro.core.models import ReferenceBase
from repro.core.program import LoopProgram
from repro.core.randomness import drawing_from
from repro.core.streams import stream
from repro.core.study import Measures
from repro.own.brought import Brought, BroughtLoop
from repro.own.loaded import Loader
from repro.own.many_modules import ManyModules
from repro.own.measured import checked

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

    def loop(self, runs: Sequence[Run[Any]], data: Examples, device: torch.device) -> LoopProgram:
        """Return the program of one training, by what the study brings, if anything."""
        if not self.brought:
            return LoopProgram(self, runs, data, device)
        return BroughtLoop(self, runs, data, device, brought=self.brought)

    def stacked(
        self, runs: Sequence[Run[Any]], data: Examples, device: torch.device
    ) -> ManyModules:
        if self.brought:
            raise ValueError("its study brings an optimiser or a schedule of its own")
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

    def loss(self, *batch: Tensor) -> tuple[Tensor, Tensor]:
        draws, *rest = batch
        with drawing_from(int(draws)):
            loss = self.study.loss_of(self.module, self.run.arm, *rest)
        return loss, loss

    def measure(self) -> Measures:
        return self.study.measure(self.module, self.run)
