"""The examples of a module's study, and its own optimiser and schedule, if it has any.

Examples are tensors, or a data set that is loaded item by item. The run's streams decide which of
them a step has, and what their transforms draw. Workers, their number and interruptions change
nothing. A study with its own optimiser or schedule trains its runs one at a time.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from repro.arm import Run
from repro.core.program import LoopProgram, RunState
from repro.core.streams import stream
from repro.core.study import Data, Study
from repro.own.outside import all_drawing_from
from repro.recipe import Moment, Recipe

SEEDS = 2**62

OPTIMISER, SCHEDULE = "own/optimiser", "own/schedule"
"""The names of the states of an optimiser and of a schedule, in a run's state."""

OF_MODULE = ("parameter/", "buffer/")
"""The beginnings of the names of parameters and buffers, in a run's state."""


def _lines(count: int, seed: int, number: int) -> Tensor:  # [N, 2]
    order = torch.randperm(count, generator=stream(seed, f"order/{number}"))
    draws = torch.randint(SEEDS, (count,), generator=stream(seed, f"draws/{number}"))
    return torch.stack([order, draws], dim=1)


class Examples:
    """Examples as lines of tensors, in a new random order in each epoch.

    The second column of a batch's first line seeds the draws of its step.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tensors

    def epoch(self, seed: int, number: int) -> Tensor:  # [N, 2]
        return _lines(len(self.tensors[0]), seed, number)

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        chosen = lines[..., 0]  # [R, B]
        return (lines[:, 0, 1], *(tensor[chosen] for tensor in self.tensors))


class _Drawn(Dataset[Any]):
    """A data set whose index is an example and the seed of its draws."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __getitem__(self, line: tuple[int, int]) -> Any:
        index, draw = line
        with all_drawing_from(draw):
            return self.examples[index]


class LoadedExamples:
    """Examples of a map-style data set; the second column also seeds their transforms.

    If a single run trains, workers load the rest of its epoch ahead.
    """

    def __init__(self, given: Any, *, workers: int, device: torch.device) -> None:
        self._examples, self._count = _Drawn(given), len(given)
        self._workers, self._device = workers, device
        self._epoch: list[tuple[int, int]] = []
        self._ahead: deque[list[tuple[int, int]]] = deque()
        """The batches that workers load, and that no step has used yet."""
        self._coming: Iterator[Any] = iter(())

    def epoch(self, seed: int, number: int) -> Tensor:  # [N, 2]
        lines = _lines(self._count, seed, number)
        self._epoch = _as_pairs(lines)
        return lines

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        runs, size = lines.shape[:2]
        wanted = _as_pairs(lines.flatten(0, 1))
        if self._workers and runs == 1:
            if not self._ahead or self._ahead[0] != wanted:
                self._begin_at(wanted)
            self._ahead.popleft()
            parts = next(self._coming)
        else:
            parts = default_collate([self._examples[line] for line in wanted])
        moved = (part.to(self._device, non_blocking=True) for part in parts)
        return (lines[:, 0, 1], *(part.reshape(runs, size, *part.shape[1:]) for part in moved))

    def _begin_at(self, wanted: list[tuple[int, int]]) -> None:
        """Let workers load the epoch from this batch on; only this batch if the epoch lacks it."""
        known = wanted[0] in self._epoch
        left = self._epoch[self._epoch.index(wanted[0]) :] if known else wanted
        size = len(wanted)
        self._ahead = deque(left[at : at + size] for at in range(0, len(left) - size + 1, size))
        loader: DataLoader[Any] = DataLoader(
            self._examples,
            batch_sampler=list(self._ahead),
            num_workers=self._workers,
            pin_memory=self._device.type == "cuda",  # or each copy would wait for the device
            generator=torch.Generator(),  # or it would draw from the global one
        )
        self._coming = iter(loader)


def _as_pairs(lines: Tensor) -> list[tuple[int, int]]:
    return [(index, draw) for index, draw in lines.tolist()]


@dataclass(frozen=True)
class Brought:
    """The optimiser and the schedule of a study's own: one of them, or both."""

    optimiser: Callable[..., torch.optim.Optimizer] | None = None
    schedule: Callable[..., Any] | None = None

    def __bool__(self) -> bool:
        return self.optimiser is not None or self.schedule is not None

    def require_used(self, recipe: Recipe) -> None:
        """Raise ValueError if a recipe has a setting that nothing would use."""
        unused = {
            "optimiser": ["optimiser", "weight_decay"] if self.optimiser is not None else [],
            "schedule": ["schedule", "warmup"] if self.schedule is not None else [],
        }
        usual = Recipe(epochs=recipe.epochs, batch=recipe.batch, lr=recipe.lr)
        for own, names in unused.items():
            for name in names:
                if getattr(recipe, name) != getattr(usual, name):
                    raise ValueError(
                        f"The recipe says {name}={getattr(recipe, name)!r}, which the study's own"
                        f" {own} does not use; leave it out there, and give it to the {own}."
                    )
        if recipe.precision == "float16":
            raise ValueError(
                "The recipe says precision='float16', which scales the loss; a study's own"
                " optimiser or schedule trains in 'float32' or 'bfloat16'."
            )


class BroughtLoop(LoopProgram):
    """One training by a study's own optimiser or schedule."""

    def __init__(
        self,
        study: Study,
        runs: Sequence[Run],
        data: Data,
        device: torch.device,
        *,
        brought: Brought,
    ) -> None:
        brought.require_used(runs[0].arm.recipe)
        super().__init__(study, runs, data, device)
        arm = runs[0].arm
        if brought.optimiser is not None:
            own: Any = brought.optimiser(list(self.trained.values()), arm)
            self.optimiser = own
        for group in self.optimiser.param_groups:
            group["lr"] = group["base"] = group.get("base", group["lr"])
        self.schedule = (
            brought.schedule(self.optimiser, arm, max(1, arm.steps)) if brought.schedule else None
        )
        self.has_begun = False

    def advance(self, batch: tuple[Tensor, ...], at: Moment) -> Tensor:
        if self.schedule is not None:  # it has set the rates, which the recipe leaves as they are
            for group in self.optimiser.param_groups:
                group["base"] = group["lr"]
        losses = super().advance(batch, at)
        if self.schedule is not None and at.step + 1 < at.total:
            self.schedule.step()
        self.has_begun = True
        return losses

    def states(self) -> list[RunState]:
        state = {name: x for name, x in super().states()[0].items() if name.startswith(OF_MODULE)}
        if self.has_begun:
            state[OPTIMISER] = _as_bytes(self.optimiser.state_dict())
            if self.schedule is not None:
                state[SCHEDULE] = _as_bytes(self.schedule.state_dict())
        return [state] * len(self.runs)

    def restore(self, states: Sequence[RunState]) -> None:
        super().restore(states)
        state = states[0]
        self.has_begun = OPTIMISER in state
        if self.has_begun:
            self.optimiser.load_state_dict(_from_bytes(state[OPTIMISER]))
            if self.schedule is not None:
                self.schedule.load_state_dict(_from_bytes(state[SCHEDULE]))


def _as_bytes(state: Any) -> Tensor:
    """Return an optimiser's state as a tensor of bytes, which a checkpoint can hold."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)


def _from_bytes(saved: Tensor) -> Any:
    return torch.load(io.BytesIO(saved.cpu().numpy().tobytes()), weights_only=True)
