"""Studies whose training is a black box: a user's function in any framework, or a command."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from repro.arm import Run
from repro.own.measured import checked

if TYPE_CHECKING:
    from repro.core.study import Measures


class Diverged(Exception):
    """Raised by a user's training to say that its run diverged, and at which step.

    Claims about how many runs diverge read it; of any other claim the run is remarked on.

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

    The global generators of Python, NumPy and torch are seeded from the run's seed around it; what
    draws elsewhere (another process, another framework) has to be given the seed.

    >>> def train(arm, seed):
    ...     printed = subprocess.check_output(["./train", f"--lr={arm.lr}", f"--seed={seed}"])
    ...     return {"accuracy": float(printed)}
    >>> STUDY = OutsideStudy(train)
    """

    def __init__(self, train: Callable[[Any, int], Mapping[str, float]]) -> None:
        self.train = train

    def train_outside(self, run: Run[Any]) -> Measures:
        """Train a run by the user's function."""
        with _seeded(run.seed):
            measured = self.train(run.arm, run.seed)
        return checked(run.arm, measured, by="train(arm, seed)")


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Let every global generator draw from this seed within the block, and as before after it."""
    from repro.core.randomness import drawing_from
    from repro.core.streams import stream

    python, array = random.getstate(), np.random.get_state()
    start = stream(seed, "outside").initial_seed()
    random.seed(start)
    np.random.seed(start % 2**32)
    try:
        with drawing_from(start):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(array)
