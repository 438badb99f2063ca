"""What a session hands to a pool of trainers, and the events that come back.

A pool trains batches somewhere: in processes of this machine, by Slurm, on a Ray cluster. It puts
their results into the store, and knows nothing of claims; the session alone plans, and holds the
locks of runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import TracebackType
from typing import Any, Generic, TypeVar

from repro.arm import Arm, Run
from repro.core.progress import Progress
from repro.runs.identity import Identity, name_of
from repro.store import run_key


class TrainingStopped(Exception):
    """Nothing more can be trained now; says why. All results so far are stored."""


@dataclass(frozen=True)
class Batch:
    """Runs of one program that are trained together, each with the identity of its result."""

    number: int
    runs: Mapping[Run, Identity]
    engine: str
    origin: Mapping[str, Any] = field(default_factory=dict)
    """The commit of the project, which the provenance of each result has."""

    @property
    def arm(self) -> Arm:
        """An arm of the program, which the batch is called after."""
        return next(iter(self.runs)).arm

    @cached_property
    def keys(self) -> dict[Run, str]:
        """The keys that the results of the runs are stored under."""
        return {run: run_key(identity) for run, identity in self.runs.items()}

    def part(self, runs: Iterable[Run]) -> Batch:
        """Return the same batch with these of its runs alone."""
        return replace(self, runs={run: self.runs[run] for run in runs})


@dataclass(frozen=True)
class Trained:
    """A run has come to its end: what it measured, where and how long it trained, its parameters.

    Whoever trains makes it a `Stored`.
    """

    run: Run
    values: dict[str, Any]
    provenance: dict[str, Any]
    weights: bytes | None = None
    """The parameters that it ended with, where its arm keeps them."""


@dataclass(frozen=True)
class Stored:
    """A run has its result, which is in the store."""

    run: Run


@dataclass(frozen=True)
class Failed:
    """A run could not be trained; `why` is a sentence that names it."""

    run: Run
    why: str
    details: str = ""
    """The traceback and what was printed, where training raised."""
    at: TracebackType | None = None
    """The place where it raised in this process, for a debugger."""


@dataclass(frozen=True)
class Advanced:
    """The runs of a batch have taken some steps."""

    batch: int
    progress: Progress


@dataclass(frozen=True)
class Ended:
    """Nothing further comes of a batch; runs without a result or a failure are missing still."""

    batch: int


Event = Stored | Failed | Advanced | Ended


@dataclass(eq=False)
class Job:
    """A batch, or a part of it, on its way through a pool."""

    batch: Batch
    is_last_try: bool = False
    left: list[Run] = field(init=False)
    """The runs that nothing has come of yet."""

    def __post_init__(self) -> None:
        self.left = list(self.batch.runs)


J = TypeVar("J", bound=Job)


class Pool(ABC, Generic[J]):
    """Trains batches and tells what comes of them.

    A job that is lost with its trainer is tried once more, each run that was left on its own. A run
    whose second job is lost has failed.
    """

    def __init__(self, device: str, trainers: int) -> None:
        self.device = device
        """The kind of device that it trains on: `cpu`, `cuda` or `mps`."""
        self._trainers = trainers
        self._jobs: list[J] = []
        self._events: deque[Event] = deque()
        """The events that are not yielded yet."""

    @property
    def trainers(self) -> int:
        """The number of batches that are trained at the same time."""
        return self._trainers

    @property
    def waits_for(self) -> str:
        """The others that it waits for, in words; empty where it does not."""
        return ""

    def room(self) -> int:
        """Return how many batches can be submitted now."""
        return self.trainers - len(self._jobs)

    @abstractmethod
    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        """Begin a batch; what comes of it is in `events`."""

    @abstractmethod
    def events(self, seconds: float) -> Iterator[Event]:
        """Yield what has come; where that is nothing, wait for so many seconds at most.

        Each batch ends with an `Ended`.
        """

    @abstractmethod
    def stop(self) -> None:
        """End all training after one checkpoint more; what comes to its end by then is stored.

        The pool can be used again afterwards: it starts anew when a batch is submitted.
        """

    def _refuse(self, job: J, why: str) -> None:
        """Let all runs of a job fail that cannot be trained."""
        job.is_last_try = True
        self._events.extend(self._over(job, why))

    def _pending(self) -> Iterator[Event]:
        while self._events:
            yield self._events.popleft()

    def _over(self, job: J, why: str = "", details: str = "") -> Iterator[Event]:
        """Take leave of a job: try the runs again that it has left, or let them fail."""
        self._jobs.remove(job)
        for run in job.left:
            if job.is_last_try:
                yield Failed(run, f"{name_of(run)}, {why}", details)
            else:
                self.submit(job.batch.part([run]), is_last_try=True)
        if all(other.batch.number != job.batch.number for other in self._jobs):
            yield Ended(job.batch.number)
