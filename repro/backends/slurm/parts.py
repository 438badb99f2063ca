"""The parts of a session's jobs: what of them is with Slurm, and what waits to be submitted."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace

from repro.arm import Run
from repro.backends.devices import Demand
from repro.backends.slurm.queue import PENDING, JobState
from repro.core.progress import Progress
from repro.runs.jobs import Batch, Job, Timing

BUNDLE_SECONDS = 30.0
"""Training that one job of Slurm is worth; shorter batches are carried out by one job in turn."""


@dataclass(frozen=True)
class Waiting:
    """Some of a job's runs, or its timing, that are about to be submitted."""

    job: Job
    names: tuple[str, ...]
    attempt: int = 1

    @property
    def demand(self) -> Demand:
        """The devices and the threads of a run of it."""
        return Demand.of(self.job.arm)

    @property
    def seconds(self) -> float:
        """The time that its runs train, one after the other; infinite where it goes alone."""
        if isinstance(self.job, Timing) or not self.job.speed.seconds or self.attempt > 1:
            return math.inf
        return self.job.speed.seconds * sum(run.arm.steps for run in self.job.runs)

    def one_by_one(self, names: Iterable[str]) -> Iterator[Waiting]:
        """Yield each of these runs alone, to be tried again."""
        for name in names:
            yield Waiting(part_of(self.job, [name]), (name,), self.attempt + 1)


@dataclass
class Part:
    """The part of a job that is in one batch of the shared folder."""

    of: Waiting
    batch: str
    slurm_id: str
    is_ours: bool
    """It was submitted by this session, which cancels it where it ends early."""

    left: dict[str, Run | None]
    """The names of what has not come back, with their runs."""

    state: JobState = PENDING
    looks_after_end: int = 0
    """The number of times in a row that Slurm has said its job is over."""

    progress: Progress | None = None
    width: int | None = None

    @property
    def number(self) -> int:
        """The number of the job that it is a part of."""
        return self.of.job.number


def named_runs(job: Job, device: str) -> dict[str, Run | None]:
    """Return the runs of a job by their keys; a timing has a name of its own."""
    if isinstance(job, Batch):
        return dict(zip(job.keys, job.runs, strict=True))
    about = json.dumps([job.arm.program, job.engine, device])
    return {f"timing-{hashlib.sha256(about.encode()).hexdigest()[:32]}": None}


def part_of(job: Job, names: Iterable[str]) -> Job:
    """Return a job with these of its runs alone, and without its locks."""
    if isinstance(job, Timing):
        return replace(job, held=ExitStack())
    wanted = set(names)
    pairs = [pair for pair in zip(job.runs, job.keys, strict=True) if pair[1] in wanted]
    runs, keys = [run for run, _ in pairs], [key for _, key in pairs]
    return replace(job, runs=runs, keys=keys, held=ExitStack())


def bundles(waiting: Iterable[Waiting]) -> list[list[Waiting]]:
    """Return what waits by what one job of Slurm carries out: short batches go together.

    A job costs a start of Python and its libraries, so it should be worth that.
    """
    found: list[list[Waiting]] = []
    room = 0.0
    for each in waiting:
        if not found or each.seconds > room:
            found.append([])
            room = BUNDLE_SECONDS
        found[-1].append(each)
        room -= each.seconds
    return found
