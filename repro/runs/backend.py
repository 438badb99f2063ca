"""The protocol of a place where jobs are carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from repro.runs.events import Advanced, Event
from repro.runs.jobs import Job

SECONDS_UNTIL_SAID = 30.0
"""A wait for others that takes longer is told."""


class TrainingStopped(Exception):
    """Nothing more can be trained now; says why. All results so far are stored."""


class Backend(Protocol):
    """Carries out jobs and tells what comes of them."""

    @property
    def device(self) -> str:
        """The kind of device that it trains on."""

    @property
    def machine(self) -> str | None:
        """The chip that it trains on, where all of it is one kind."""

    @property
    def slots(self) -> int:
        """The number of jobs that are carried out at the same time, also for other processes."""

    @property
    def remarks(self) -> Sequence[str]:
        """Sentences about it that a reader of the results should know."""

    @property
    def waits_for(self) -> str:
        """The thing that it has waited for long, in words; empty where it has not."""

    def plan_lines(self, *, timings: int, batches: int) -> Sequence[str]:
        """Return what is to be said of so many jobs before any is started; nothing is begun."""

    def room(self) -> int:
        """Wait until a job can be started, but not for ever; return how many can be."""

    def start(self, job: Job, tell: Callable[[Advanced], None]) -> None:
        """Begin a job; what comes of it is in `events`.

        `tell` takes how far it is where `events` waits for a user's function to return.
        """

    def events(self) -> Iterator[Event]:
        """Yield what has come, or comes within a moment. Each job ends with an `Ended`."""

    def stop(self) -> Sequence[Event]:
        """Let go of everything; return what had come by then.

        Jobs that are under way are lost but for their checkpoints.
        """
