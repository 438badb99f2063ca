"""A step that is recorded once and then replayed, so that an accelerator does not wait for Python.

A step of a small network is hundreds of kernels, each of which takes longer to start from Python
than to run. CUDA records them as a graph and starts all of them at once. A graph reads and writes
the memory that it was recorded with: a step's inputs are copied to where they lay then, and numbers
that change, such as learning rates, have to be in tensors.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[..., Tensor]
"""The losses of a step [R] from its batch."""

Recorder = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
"""Records work without doing it: how to do it, and where its result is found then.

Raises `RuntimeError` for work that cannot be recorded, because Python waits for the device in it.
"""


def replayed(step: Step, device: torch.device) -> Step:
    """The same step, replayed where the device can do so."""
    return ReplayedStep(step, cuda_graph) if device.type == "cuda" else step


class ReplayedStep:
    """A step whose tensors stay where they are; where they move, it has to be made anew.

    >>> step = ReplayedStep(program.step, cuda_graph)
    >>> losses = step(x, y)
    """

    def __init__(self, step: Step, record: Recorder) -> None:
        self.step = step
        self.record: Recorder | None = record
        self.rehearsed = False
        self.inputs: tuple[Tensor, ...] = ()
        self.replay: Callable[[], None] | None = None
        self.losses = torch.empty(0)

    def __call__(self, *batch: Tensor) -> Tensor:
        if self.rehearsed and self.record is not None and self.replay is None:
            self._record(self.record, batch)
        self.rehearsed = True  # what libraries do the first time alone would be recorded too
        if self.replay is None:
            return self.step(*batch)
        for place, part in zip(self.inputs, batch, strict=True):
            place.copy_(part)
        self.replay()
        return self.losses.clone()

    def _record(self, record: Recorder, batch: tuple[Tensor, ...]) -> None:
        self.inputs = tuple(part.clone() for part in batch)
        try:
            self.replay, self.losses = record(lambda: self.step(*self.inputs))
        except RuntimeError:  # kernel by kernel, then
            self.record = None


def cuda_graph(work: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Record work as a CUDA graph."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph.replay, result
