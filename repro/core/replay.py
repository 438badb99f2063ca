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

from repro.core.device import ran_out_of_memory

Step = Callable[..., Tensor]
"""The losses of a step [R] from its batch."""

Recorder = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
"""Records work without doing it: how to do it, and where its result is found then.

Raises `RuntimeError` for work that cannot be recorded, because Python waits for the device in it.
"""


def replay_on(device: torch.device) -> Replay | None:
    """Return what replays the steps of a program on a device, or None where nothing does."""
    return Replay(cuda_graph) if device.type == "cuda" else None


class Replay:
    """Takes the steps of a program whose tensors stay where they are; else make it anew.

    It does not keep the step, which belongs to the program that keeps this: a program that is let
    go then frees its memory at once.

    >>> replay = Replay(cuda_graph)
    >>> losses = replay(program.take_step, x, y)
    """

    def __init__(self, record: Recorder) -> None:
        self.record: Recorder | None = record
        self.rehearsed = False
        self.inputs: tuple[Tensor, ...] = ()
        self.replay: Callable[[], None] | None = None
        self.losses = torch.empty(0)

    def __call__(self, step: Step, *batch: Tensor) -> Tensor:
        if self.rehearsed and self.record is not None and self.replay is None:
            self._record(self.record, step, batch)
        self.rehearsed = True  # what libraries do the first time alone would be recorded too
        if self.replay is None:
            return step(*batch)
        for place, part in zip(self.inputs, batch, strict=True):
            place.copy_(part)
        self.replay()
        return self.losses.clone()

    def _record(self, record: Recorder, step: Step, batch: tuple[Tensor, ...]) -> None:
        inputs = self.inputs = tuple(part.clone() for part in batch)
        try:
            self.replay, self.losses = record(lambda: step(*inputs))
        except RuntimeError as error:
            if ran_out_of_memory(error):
                raise
            self.record = None  # kernel by kernel, then


def cuda_graph(work: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Record work as a CUDA graph."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph):
            result = work()
    finally:
        torch.cuda.set_stream(stream)  # where recording fails, torch leaves its own stream current
    return graph.replay, result
