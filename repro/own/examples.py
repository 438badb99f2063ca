"""The examples that a module trains on: tensors, or a data set that is loaded item by item.

Which examples a step has, and what their transforms draw, is decided by the run's streams: not by
the workers, their number, or where the training was interrupted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from repro.core.streams import stream
from repro.own.outside import all_drawing_from

SEEDS = 2**62


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


class _Drawn(Dataset[Any]):
    """A data set whose examples are asked for with the seed of what they draw."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __getitem__(self, line: tuple[int, int]) -> Any:
        index, draw = line
        with all_drawing_from(draw):
            return self.examples[index]


class LoadedExamples:
    """Examples of a map-style data set, whose transforms draw from the second column too.

    Where one run trains, workers load its epoch ahead, from the batch on that is asked for first.
    """

    def __init__(self, given: Any, *, workers: int, device: torch.device) -> None:
        self._examples, self._count = _Drawn(given), len(given)
        self._workers, self._device = workers, device
        self._epoch: list[tuple[int, int]] = []
        self._ahead: deque[list[tuple[int, int]]] = deque()
        """The batches that workers load, and that were not asked for yet."""
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
        """Let workers load an epoch from a batch on; that batch alone where no epoch has it."""
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
