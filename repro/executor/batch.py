"""A batch in training, wherever: runs of one program, in halves where memory is short."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from repro.arm import Arm, Run
from repro.core.device import one_thread, ran_out_of_memory
from repro.core.pace import Pace
from repro.executor.provenance import provenance
from repro.studies.find import study_of

if TYPE_CHECKING:
    from repro.core.train import Beat, Checkpoints
    from repro.core.weights import Weights


class Home(Protocol):
    """Where a batch has what it goes on from, and where it leaves what comes of it."""

    @property
    def checkpoints(self) -> Checkpoints: ...

    @property
    def weights(self) -> Weights: ...

    def beat(self, beat: Beat) -> None: ...

    def done(self, run: Run, values: dict[str, Any], how: dict[str, Any]) -> None:
        """Take a result, and how it came about."""

    def failed_with(self, run: Run, why: str) -> None: ...

    def fits(self, program: str, width: int) -> None:
        """Remember that memory holds no more runs of a program at once."""


def train_batch(runs: list[Run], pace: Pace, device: str, home: Home) -> None:
    """Train runs of one program together, or in halves where memory cannot hold them all."""
    done: set[Run] = set()
    shortage = _train_together(runs, pace, device, home, done)
    if shortage is None:
        return
    left = [run for run in runs if run not in done]
    if len(runs) == 1:
        for run in left:
            home.failed_with(
                run,
                f"{name_of(run)} does not fit into memory on its own ({shortage}); free some,"
                " or train it on a larger device.",
            )
        return
    half = -(-len(runs) // 2)
    home.fits(runs[0].arm.program, half)
    for start in range(0, len(left), half):
        train_batch(left[start : start + half], pace, device, home)


def _train_together(
    runs: Sequence[Run], pace: Pace, device: str, home: Home, done: set[Run]
) -> str | None:
    """Train runs, and hand in each as it is done; what was said where memory ran out.

    Said rather than raised: the exception would keep the memory of what it left unfinished.
    """
    import torch

    from repro.core.train import train

    one_thread()
    began = time.monotonic()
    try:
        for run, values in train(
            study_of(runs[0].arm),
            runs,
            engine=pace.engine,
            device=torch.device(device),
            checkpoints=home.checkpoints,
            weights=home.weights,
            beat=home.beat,
        ):
            seconds = (time.monotonic() - began) / len(runs)
            home.done(run, values, provenance(seconds, len(runs)))
            done.add(run)
    except Exception as error:
        if ran_out_of_memory(error):
            return str(error)
        for run in runs:
            if run not in done:
                what = f"{type(error).__name__}: {error}"
                home.failed_with(run, f"{name_of(run)}, failed to train: {what}")
    return None


def one_at_a_time(arm: Arm, why: str) -> str:
    """What is said of a program whose stacked form did not get through."""
    short = textwrap.shorten(why.partition(". ")[0], 160, placeholder=" …")
    return f"{arm.label} was trained one run at a time; its module is not stacked: {short}"


def name_of(run: Run) -> str:
    """A run in words."""
    return f"{run.arm.label}, seed {run.seed}"
