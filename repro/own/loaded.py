"""Examples that are loaded one by one, with transforms, by workers ahead of the training.

Which examples a step has, and what their transforms draw, is decided by the run's streams: not by
the workers, their number, or where the training was interrupted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from repro.core.randomness import drawing_from

Lines = list[tuple[int, int]]
"""Examples, each with the seed of what its transforms draw."""


@contextmanager
def all_drawing_from(seed: int) -> Iterator[None]:
    """Let Python's, NumPy's and torch's generators draw from a seed, and as before afterwards."""
    python, array = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        with drawing_from(seed):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(array)


class _Drawn(Dataset[Any]):
    """A data set whose examples are asked for with the seed of what they draw."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples

    def __getitem__(self, line: tuple[int, int]) -> Any:
        index, draw = line
        with all_drawing_from(draw):
            return self.examples[index]


class Loader:
    """Batches of a map-style data set, by the lines of an epoch in any run's order.

    >>> loader = Loader(pictures, workers=4, device=torch.device("cpu"))
    >>> loader.expect(lines)  # of a whole epoch, [N, 2]
    >>> images, classes = loader.batch(lines[:32][None])
    """

    def __init__(self, examples: Any, *, workers: int, device: torch.device) -> None:
        self._examples, self._workers, self._device = _Drawn(examples), workers, device
        self._expected: Lines = []
        self._places: dict[tuple[int, int], int] = {}
        self._coming: Iterator[Any] = iter(())
        self._next: Lines = []

    def expect(self, lines: Tensor) -> None:
        """Take note of an epoch that batches will be asked for of, in its order."""
        self._expected = _as_lines(lines)
        self._places = {line: place for place, line in enumerate(self._expected)}

    def batch(self, lines: Tensor) -> tuple[Tensor, ...]:
        """Return the tensors [R, B, ...] of lines [R, B, 2]."""
        runs, size = lines.shape[:2]
        wanted = _as_lines(lines.flatten(0, 1))
        if self._workers and runs == 1:
            parts = self._loaded_ahead(wanted)
        else:
            parts = default_collate([self._examples[line] for line in wanted])
        moved = (part.to(self._device, non_blocking=True) for part in parts)
        return tuple(part.reshape(runs, size, *part.shape[1:]) for part in moved)

    def _loaded_ahead(self, wanted: Lines) -> Sequence[Tensor]:
        """Return what workers have loaded; let them begin here where it is something else."""
        if wanted != self._next:
            self._coming = self._from(wanted)
        parts: Sequence[Tensor] = next(self._coming)
        begin = self._places.get(wanted[0])
        after = len(self._expected) if begin is None else begin + len(wanted)
        self._next = self._expected[after : after + len(wanted)]
        return parts

    def _from(self, wanted: Lines) -> Iterator[Any]:
        """Let workers load an epoch from a batch on; that batch alone where no epoch has it."""
        begin = self._places.get(wanted[0])
        left = wanted if begin is None else self._expected[begin:]
        size = len(wanted)
        batches = [left[at : at + size] for at in range(0, len(left) - size + 1, size)]
        loader: DataLoader[Any] = DataLoader(
            self._examples,
            batch_sampler=batches,
            num_workers=self._workers,
            pin_memory=self._device.type == "cuda",  # or each copy would wait for the device
            generator=torch.Generator(),  # or it would draw from the global one
        )
        return iter(loader)


def _as_lines(lines: Tensor) -> Lines:
    return [(index, draw) for index, draw in lines.tolist()]
