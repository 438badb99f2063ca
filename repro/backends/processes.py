"""The pool of this machine: trainers in processes of their own, kept from batch to batch.

The session's process imports no torch and survives whatever ends a trainer. What a black box says
that it needs (cores, or accelerators) is free before it begins.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from repro.arm import Run
from repro.backends.packed import Unsendable, packed, require_not_loading
from repro.backends.places import Demand, LocalPool
from repro.backends.serve import Task, Unread
from repro.backends.trainer_process import TrainerProcess
from repro.core.progress import Progress
from repro.imports import interrupts_held
from repro.own.arm import OutsideArm
from repro.runs.identity import name_of
from repro.runs.pool import Advanced, Batch, Ended, Event, Failed, Narrowed, failures
from repro.store import Store, StoreError

SECONDS_TO_STOP = 30.0
"""The time that trainers have for a last checkpoint; a step may take long."""

MOST = 2
"""Runs of a program that end their process twice, after which no other one is tried."""

RETRY = "it is not tried again in this session; the same command tries it again"


@dataclass(eq=False)
class _Job:
    """A batch on its way: the runs that its trainer has now, and those that come after them."""

    batch: Batch
    content: bytes
    now: list[int]
    later: deque[list[int]] = field(default_factory=deque)
    done: set[Run] = field(default_factory=set)
    places: list[str] = field(default_factory=list)
    trainer: TrainerProcess | None = None
    is_alone: bool = False
    """True once a process has ended with it: its runs are then tried one by one."""

    @property
    def left(self) -> list[Run]:
        """The runs without a result that its trainer has now."""
        return [run for run in (self.batch.runs[n] for n in self.now) if run not in self.done]


class ProcessPool(LocalPool):
    """A pool of at most so many trainers, and no more than there are cores or accelerators.

    >>> pool = ProcessPool(store, device="cpu", trainers=4)
    >>> pool.submit(batch)
    >>> for event in pool.events(seconds=1.0):
    ...     print(event)
    >>> pool.stop()
    """

    def __init__(self, store: Store, *, device: str, trainers: int) -> None:
        require_not_loading()
        super().__init__(device)
        self._store, self._most = store, trainers
        self._waiting: deque[_Job] = deque()
        self._jobs: list[_Job] = []
        self._idle: list[TrainerProcess] = []
        self._came: deque[Event] = deque()
        self._given_up: Counter[str] = Counter()

    @property
    def trainers(self) -> int:
        return max(1, min(self._most, len(self._places.names)))

    def room(self) -> int:
        if self._waiting:  # for more places, which others would take away
            return 0
        return self._places.reserve(self.trainers - len(self._jobs))

    def submit(self, batch: Batch) -> None:
        most, content = len(self._places.names), b""
        why = Demand.of(batch.arm).lacking(most, where="this machine", device=self.device)
        try:
            content = packed(batch)
        except Unsendable as error:
            why = why or str(error)
        if why:
            self._came.extend(failures(batch, why))
            self._came.append(Ended(batch.number))
            return
        self._waiting.append(_Job(batch, content, list(range(len(batch.runs)))))
        self._begin_waiting()

    def events(self, seconds: float) -> Iterator[Event]:
        self._begin_waiting()
        if not self._came:
            wait([job.trainer.connection for job in self._jobs if job.trainer], seconds)
        with interrupts_held():  # a message that is half read would be lost, and all after it
            for job in list(self._jobs):
                self._hear(job)
        while self._came:
            yield self._came.popleft()
        if not self._waiting:
            self._places.let_go()

    def stop(self) -> Sequence[Event]:
        self._waiting.clear()
        self._places.let_go()
        for trainer in self._idle:
            trainer.kill()
        jobs, self._jobs, self._idle = self._jobs, [], []
        under_way = {job: job.trainer for job in jobs if job.trainer}
        try:
            for job, trainer in under_way.items():
                _ask_to_stop(job, trainer)
            self._hear_last(under_way)
        except KeyboardInterrupt:  # a second Ctrl-C: not even a last checkpoint
            pass
        for job in jobs:
            if job.trainer:
                job.trainer.kill()
            self._places.give_back(job.places)
        came = list(self._came)
        self._came.clear()
        return came

    def _begin_waiting(self) -> None:
        """Begin the batches, in their order, that there are places for."""
        with interrupts_held():
            while self._waiting and len(self._jobs) < self.trainers:
                demand = Demand.of(self._waiting[0].batch.arm)
                cores = min(demand.cores("cpu"), len(self._places.names))
                places = self._places.take(cores if self.device == "cpu" else demand.devices)
                if not places:
                    return
                job = self._waiting.popleft()
                job.places = places
                self._jobs.append(job)
                self._send(job)

    def _send(self, job: _Job) -> None:
        """Let a trainer have a job's next runs; ends the job where no run is left."""
        program = job.batch.arm.program
        if self._given_up[program] >= MOST:
            why = f"{MOST} runs of its program ended their process twice; {RETRY}"
            for place in [*job.now, *(place for part in job.later for place in part)]:
                self._fail(job, job.batch.runs[place], f"is not trained: {why}")
            job.now, job.later = [], deque()
        if not job.now:
            self._end(job)
            return
        task = Task(job.content, job.now, self._store.root, self.device, sys.path[:])
        while job.trainer is None or not job.trainer.send(task):
            if job.trainer is not None:
                job.trainer.kill()
            job.trainer = self._trainer_at(job.places)

    def _trainer_at(self, places: Sequence[str]) -> TrainerProcess:
        """Return an idle trainer, or a new one; no two share an accelerator."""
        visible = ",".join(places) if self.device == "cuda" else None
        for trainer in list(self._idle):
            if trainer.visible == visible:
                self._idle.remove(trainer)
                return trainer
            if not set(places).isdisjoint((trainer.visible or "").split(",")):
                self._idle.remove(trainer)
                trainer.kill()
        return TrainerProcess(visible)

    def _hear(self, job: _Job) -> None:
        """Take in what a job's trainer has sent, and send it what is next."""
        assert job.trainer is not None
        try:
            for event in job.trainer.received():
                if isinstance(event, Ended):
                    job.now = job.later.popleft() if job.later else []
                    self._send(job)
                    return
                if isinstance(event, StoreError):
                    raise event
                self._take(job, event)
        except EOFError:
            self._try_again(job)

    def _take(self, job: _Job, event: Any) -> None:
        match event:
            case Progress():
                self._came.append(Advanced(job.batch.number, event))
            case (kind, place, rest):  # a `Trained` or a `Failed`
                run = job.batch.runs[place]
                job.done.add(run)
                self._came.append(kind(run, *rest))
            case Narrowed():
                self._came.append(event)
            case Unread(why, details):
                for run in job.left:
                    self._fail(job, run, f"cannot be loaded in a trainer process: {why}", details)
            case str():
                self._store.report(event)

    def _try_again(self, job: _Job) -> None:
        """Try the runs alone that a process has ended with, and no run more than once so."""
        assert job.trainer is not None
        printed, left = job.trainer.printed(), job.left
        how, job.trainer = job.trainer.kill(), None
        if job.is_alone:
            for run in left:
                self._fail(job, run, f"ended its process twice ({how}); {RETRY}", printed)
                self._given_up[run.arm.program] += 1
        else:
            job.is_alone = True
            job.later = deque([place] for place in job.now if job.batch.runs[place] in left)
        job.now = job.later.popleft() if job.later else []
        self._send(job)

    def _fail(self, job: _Job, run: Run, why: str, details: str = "") -> None:
        job.done.add(run)
        self._came.append(Failed(run, f"{name_of(run)}, {why}", details))

    def _end(self, job: _Job) -> None:
        self._jobs.remove(job)
        self._places.give_back(job.places)
        if job.trainer is not None:
            self._idle.append(job.trainer)
        self._came.append(Ended(job.batch.number))

    def _hear_last(self, under_way: dict[_Job, TrainerProcess]) -> None:
        """Take in what trainers send until they end, or their time is over."""
        until = time.monotonic() + SECONDS_TO_STOP
        while under_way and (seconds := until - time.monotonic()) > 0:
            wait([trainer.connection for trainer in under_way.values()], seconds)
            for job, trainer in list(under_way.items()):
                try:
                    for event in trainer.received():
                        self._take(job, event)
                except EOFError:
                    del under_way[job]


def _ask_to_stop(job: _Job, trainer: TrainerProcess) -> None:
    """Ask for an end after one checkpoint, or at once where a black box would never hear it."""
    arm = job.batch.arm
    if isinstance(arm, OutsideArm) and not arm.epochs_told:
        trainer.interrupt()
    else:
        trainer.send(None)
