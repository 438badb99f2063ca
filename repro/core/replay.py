"""Records a training step once and replays it, so that an accelerator does not wait for Python.

A step of a small network is hundreds of kernels, and Python needs longer to start each one than it
runs. CUDA records them as a graph and starts them all at once. A graph reads and writes fixed
memory. So the inputs of a step are copied to fixed tensors, and numbers that change, such as
learning rates, must be in tensors, too.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from repro.core.device import ran_out_of_memory

Step = Callable[..., Tensor]
"""A function from a batch to the losses of a step, [R]."""

Recorder = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
"""Records work without doing it; returns a function that does it, and the tensor of its result.

Raises `RuntimeError` for work in which Python waits for the device: it cannot be recorded.
"""


def replay_on(device: torch.device) -> Replay | None:
    """Return a `Replay` for a program on a device; None for devices without graphs."""
    return Replay(cuda_graph) if device.type == "cuda" else None


class Replay:
    """Takes the steps of a program; make a new one if the program's tensors are replaced.

    It holds no reference to the step, a method of the program: without the cycle, a deleted program
    frees its memory at once.

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
        self.rehearsed = True  # a recording would include the one-time work of libraries
        if self.replay is None:
            return step(*batch)
        for kept, part in zip(self.inputs, batch, strict=True):
            kept.copy_(part)
        self.replay()
        return self.losses.clone()

    def _record(self, record: Recorder, step: Step, batch: tuple[Tensor, ...]) -> None:
        inputs = self.inputs = tuple(part.clone() for part in batch)
        try:
            self.replay, self.losses = record(lambda: step(*inputs))
        except RuntimeError as error:
            if ran_out_of_memory(error):
                raise
            self.record = None  # without a graph, then


def cuda_graph(work: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Record work as a CUDA graph."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph):
            result = work()
    finally:
        torch.cuda.set_stream(stream)  # after a failure torch would leave its recording stream
    return graph.replay, result
