"""What a session hands to a pool of trainers, and the events that come back.

A pool trains batches somewhere: in processes of this machine, by Slurm, on a Ray cluster. It knows
nothing of claims; the session alone plans, holds the locks of runs, and stores results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from repro.arm import Arm, Run
from repro.core.progress import Progress
from repro.runs.identity import name_of

SECONDS_UNTIL_SAID = 30.0
"""A wait for others that takes longer is told."""


class TrainingStopped(Exception):
    """Nothing more can be trained now; says why. All results so far are stored."""


@dataclass(frozen=True)
class Start:
    """The stored run whose parameters the runs of a batch start from."""

    run: Run
    key: str


@dataclass(frozen=True)
class Batch:
    """Runs of one program that are trained together, each with the key of its result."""

    number: int
    runs: Sequence[Run]
    keys: Sequence[str]
    engine: str
    start: Start | None = None

    @property
    def arm(self) -> Arm:
        """An arm of the program, which the batch is called after."""
        return self.runs[0].arm


@dataclass(frozen=True)
class Trained:
    """A run has its result: what it measured, where and how long it trained, its parameters."""

    run: Run
    values: dict[str, Any]
    provenance: dict[str, Any]
    weights: bytes | None = None
    """The parameters that it ended with, where its arm keeps them."""


@dataclass(frozen=True)
class Stored:
    """A run has its result, which its trainer has put into the store itself."""

    run: Run


@dataclass(frozen=True)
class Failed:
    """A run could not be trained; `why` is a sentence that names it."""

    run: Run
    why: str
    details: str = ""
    """The traceback and what was printed, where training raised."""


def failures(batch: Batch, why: str) -> list[Failed]:
    """Return the failures of all runs of a batch, for one reason."""
    return [Failed(run, f"{name_of(run)}, {why}") for run in batch.runs]


@dataclass(frozen=True)
class Narrowed:
    """Memory held no more than `width` runs of a program at once."""

    program: str
    width: int


@dataclass(frozen=True)
class Advanced:
    """The runs of a batch have taken some steps."""

    batch: int
    progress: Progress


@dataclass(frozen=True)
class Ended:
    """Nothing further comes of a batch; runs without a result or a failure are missing still."""

    batch: int


Event = Trained | Stored | Failed | Narrowed | Advanced | Ended


class Pool(Protocol):
    """Trains batches and tells what comes of them."""

    @property
    def device(self) -> str:
        """The kind of device that it trains on: `cpu`, `cuda` or `mps`."""

    @property
    def machine(self) -> str | None:
        """The chip that it trains on, where all of it is one kind."""

    @property
    def trainers(self) -> int:
        """The number of batches that are trained at the same time."""

    @property
    def remarks(self) -> Sequence[str]:
        """Sentences about it that a reader of the results should know."""

    @property
    def waits_for(self) -> str:
        """The thing that it has waited for long, in words; empty where it has not."""

    def plan_lines(self, batches: int) -> Sequence[str]:
        """Return what is to be said of so many batches before any is submitted."""

    def room(self) -> int:
        """Return how many batches can be submitted now."""

    def submit(self, batch: Batch) -> None:
        """Begin a batch; what comes of it is in `events`."""

    def events(self, seconds: float) -> Iterator[Event]:
        """Yield what has come; where that is nothing, wait for so many seconds at most.

        Each batch ends with an `Ended`.
        """

    def stop(self) -> Sequence[Event]:
        """End all training after one checkpoint more; return what had come by then.

        The pool can be used again afterwards: it starts anew when a batch is submitted.
        """
