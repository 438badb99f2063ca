"""Studies whose training is a black box: a function of the user, in any framework."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from repro.arm import Run
from repro.core.device import has_torch
from repro.core.progress import Finished
from repro.core.streams import stream_seed
from repro.environment import environment_with
from repro.own.training_run import Files, TrainingRun, checked

if TYPE_CHECKING:
    from repro.core.study import Measures

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Environment variables with the number of threads of numerical libraries."""

VISIBLE = "CUDA_VISIBLE_DEVICES"


class Diverged(Exception):
    """Raised by a user's training if its run diverged, with the step.

    Claims can count runs that diverged; other claims get a remark.

    >>> def train(arm, seed):
    ...     for step in range(1000):
    ...         if not math.isfinite(loss := one_step()):
    ...             raise Diverged(step)
    """

    def __init__(self, step: int) -> None:
        super().__init__(f"diverged at step {step}")
        self.step = step


class OutsideStudy:
    """A study made of one function, which trains an arm at a seed and returns what it measured.

    The global generators of Python, NumPy and torch are seeded from the run's seed before the call,
    and restored after it. Other processes and frameworks must be given the seed. A function with a
    parameter `run` gets the `TrainingRun`: it has a folder for checkpoints, and reports epochs.

    >>> def train(arm, seed):
    ...     printed = subprocess.check_output(["./train", f"--lr={arm.lr}", f"--seed={seed}"])
    ...     return {"accuracy": float(printed)}
    >>> STUDY = OutsideStudy(train)
    """

    def __init__(self, train: Callable[..., Mapping[str, Any]]) -> None:
        self.train = train
        self._takes_run = _takes(train, run=None)
        if not (self._takes_run or _takes(train)):
            raise TypeError(
                "The function of an OutsideStudy is called as train(arm, seed), or as"
                f" train(arm, seed, run), and {getattr(train, '__name__', train)!r} takes neither."
            )

    def training(self, runs: Sequence[Run[Any]], files: Files) -> Iterator[Finished]:
        """Train runs one after another; yields each as it is done."""
        for run in runs:
            record = TrainingRun(run, files)
            try:
                measures = self._measures(run, record)
            except Diverged as diverged:
                yield Finished(run, {"diverged_at": int(diverged.step), "history": record.history})
            else:
                yield Finished(run, {"measures": measures, "history": record.history, "steps": 0})

    def _measures(self, run: Run[Any], record: TrainingRun) -> Measures:
        seeded = all_drawing_from(stream_seed(run.seed, "outside"))
        with seeded, _using(record.threads, record.visible):
            more = {"run": record} if self._takes_run else {}
            measured = self.train(run.arm, run.seed, **more)
        return checked(run.arm, measured, by=f"train({', '.join(['arm', 'seed', *more])})")


def _takes(function: Callable[..., Any], **more: Any) -> bool:
    """Return whether a function can be called with an arm, a seed and these arguments."""
    try:
        inspect.signature(function).bind(None, None, **more)
    except (TypeError, ValueError):
        return False
    return True


@contextmanager
def _using(count: int, visible: str | None) -> Iterator[None]:
    """Let torch, OpenMP and commands use `count` threads within the block.

    Commands see only the visible CUDA devices.
    """
    variables = dict.fromkeys(THREADS, str(count))
    with environment_with(variables if visible is None else {**variables, VISIBLE: visible}):
        if not has_torch():
            yield
            return
        import torch

        usual = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(usual)


def _torch_drawing_from(seed: int) -> AbstractContextManager[None]:
    if not has_torch():
        return nullcontext()
    from repro.core.randomness import drawing_from

    return drawing_from(seed)


@contextmanager
def all_drawing_from(seed: int) -> Iterator[None]:
    """Seed Python's, NumPy's and torch's generators within the block, and restore them after it."""
    python, array = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        with _torch_drawing_from(seed):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(array)
