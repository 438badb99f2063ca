"""The interface of pools: a session submits batches of runs, and events come back.

A pool trains batches in processes of this machine, by Slurm, or on a Ray cluster. It puts their
results into the store, and knows nothing of claims. Only the session plans, and holds the locks of
runs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import TracebackType
from typing import Any, Generic, TypeVar

from repro.arm import Arm, Run
from repro.core.progress import Progress
from repro.runs.identity import Identity, name_of
from repro.store import Result, run_key


class TrainingStopped(Exception):
    """Training cannot go on; the message says why. All results so far are stored."""


@dataclass(frozen=True)
class Batch:
    """Runs of one program that are trained together, each with the identity of its result."""

    number: int
    runs: Mapping[Run, Identity]
    engine: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    """The commit of the project, for the provenance of each result."""
    seconds: float = math.inf
    """The expected time of its training; infinite where nobody knows."""
    start: str = ""
    """The digest of the result that the runs start from."""

    @property
    def arm(self) -> Arm:
        """The first arm; the batch is named after it."""
        return next(iter(self.runs)).arm

    @cached_property
    def keys(self) -> dict[Run, str]:
        """The address of each run in the store."""
        return {run: run_key(identity) for run, identity in self.runs.items()}

    def part(self, runs: Iterable[Run]) -> Batch:
        """Return the same batch with only these runs."""
        return replace(self, runs={run: self.runs[run] for run in runs})


@dataclass(frozen=True)
class Trained:
    """A run has ended: its values, its provenance and its parameters.

    The pool stores it and sends `Stored`.
    """

    run: Run
    values: dict[str, Any]
    provenance: dict[str, Any]
    weights: bytes | None = None
    """The final parameters, if its arm keeps them."""
    trace: dict[str, Any] = field(default_factory=dict)
    """All that made it."""


@dataclass(frozen=True)
class Stored:
    """The result of a run is in the store, with this key."""

    run: Run
    key: str


@dataclass(frozen=True)
class Kept:
    """The result of a run that is not stored, since what made it was not recorded."""

    run: Run
    result: Result


@dataclass(frozen=True)
class Failed:
    """A run could not be trained; `why` is a sentence that names it."""

    run: Run
    why: str
    details: str = ""
    """The traceback and the output, if training raised an error."""
    at: TracebackType | None = None
    """The traceback of an error in this process, for a debugger."""


@dataclass(frozen=True)
class Ended:
    """A batch is over; its runs without a result or a failure are still missing."""

    batch: int


Event = Stored | Kept | Failed | Ended


@dataclass(eq=False)
class Job:
    """A batch, or a part of it, on its way through a pool."""

    batch: Batch
    is_last_try: bool = False
    left: list[Run] = field(init=False)
    """The runs without a result or a failure so far."""

    def __post_init__(self) -> None:
        self.left = list(self.batch.runs)


J = TypeVar("J", bound=Job)


class Pool(ABC, Generic[J]):
    """Trains batches and yields events.

    If a job is lost with its trainer, each of its remaining runs is tried once more, alone. A run
    whose second job is lost has failed.
    """

    def __init__(self, device: str, trainers: int) -> None:
        self.device = device
        """The kind of device: `cpu`, `cuda` or `mps`."""
        self._trainers = trainers
        self._jobs: dict[J, None] = {}
        self._events: deque[Event] = deque()
        """The events that are not yielded yet."""
        self.show: Callable[[int, Progress], None] = lambda batch, progress: None
        """Shows that the runs of a batch have taken some steps."""

    @property
    def trainers(self) -> int:
        """The number of batches that can train at the same time."""
        return self._trainers

    @property
    def waits_for(self) -> str:
        """What the pool waits for, in words; empty if it does not wait."""
        return ""

    def room(self) -> int:
        """Return how many batches can be submitted now."""
        return self.trainers - len(self._jobs)

    @abstractmethod
    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        """Begin a batch."""

    @abstractmethod
    def events(self, seconds: float) -> Iterator[Event]:
        """Yield new events; if there are none, wait for at most this number of seconds.

        Each batch ends with an `Ended`.
        """

    @abstractmethod
    def stop(self) -> None:
        """End all training after one more checkpoint; runs that end before it are stored.

        Afterwards the pool can be used again: the next `submit` starts it.
        """

    def _refuse(self, job: J, why: str) -> None:
        """Fail all runs of a job that cannot be trained."""
        job.is_last_try = True
        self._events.extend(self._over(job, why))

    def _pending(self) -> Iterator[Event]:
        while self._events:
            yield self._events.popleft()

    def _over(self, job: J, why: str = "", details: str = "") -> Iterator[Event]:
        """End a job: try its remaining runs again, or fail them."""
        del self._jobs[job]
        for run in job.left:
            if job.is_last_try:
                yield Failed(run, f"{name_of(run)}, {why}", details)
            else:
                self.submit(job.batch.part([run]), is_last_try=True)
        is_part = job.is_last_try or bool(job.left)
        if not (is_part and any(x.batch.number == job.batch.number for x in self._jobs)):
            yield Ended(job.batch.number)
