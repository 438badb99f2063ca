"""The pools of this machine: trainers in processes of their own, or the session's own process.

A session with trainers does not import torch, and survives the crash of a trainer. A black box
starts when the cores or accelerators that it asks for are free.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from repro.arm import Run
from repro.backends.batch_files import stored_start
from repro.backends.packed import packed, require_not_loading
from repro.backends.places import Places, cores, cores_of, devices_of, places_on, require_devices
from repro.backends.trainer import train_batch, within
from repro.backends.trainer_process import TrainerProcess, Unread
from repro.core.device import resolve_device, use_accelerator
from repro.core.progress import Progress
from repro.exits import exit_refused
from repro.imports import interrupts_held
from repro.own.arm import OutsideArm
from repro.own.training_run import Files
from repro.runs.identity import name_of
from repro.runs.pool import Batch, Ended, Event, Failed, Job, Kept, Pool, Stored, Trained
from repro.store import Result, Store, StoreError
from repro.store.key import plain

SECONDS_TO_STOP = 30.0
"""The time for trainers to write a last checkpoint, since a step may take long."""

RETRY = "it is not tried again in this session; the same command tries it again"


@dataclass(eq=False)
class LocalJob(Job):
    """A job with its places and its trainer; it has none while it waits for places."""

    content: bytes = b""
    places: list[str] = field(default_factory=list)
    trainer: TrainerProcess | None = None


class LocalPool(Pool[LocalJob]):
    """A pool on this machine, with its device and its places to train at."""

    def __init__(self, store: Store, device: str, trainers: int, project: Path) -> None:
        super().__init__(resolve_device(device), trainers)
        self._store, self._project = store, project

    @property
    def waits_for(self) -> str:
        if not self._jobs or any(job.places for job in self._jobs):
            return ""
        return f"a place to train at, held by {self._places.holders}"

    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        job = LocalJob(batch, is_last_try)
        self._jobs[job] = None
        try:
            most = len(self._places.names)
            require_devices(batch.arm, most, where="this machine", device=self.device)
            job.content = self._sent(batch)
        except ValueError as error:
            self._refuse(job, str(error))

    @cached_property
    def _places(self) -> Places:
        """The places to train at, made when the first batch comes."""
        return places_on(self.device)

    def _sent(self, batch: Batch) -> bytes:
        """Return a batch as bytes for a trainer; raises ValueError where it cannot be sent."""
        return b""

    def _take_places(self, job: LocalJob) -> bool:
        """Take the places for a job, at most all cores; return whether it got them."""
        arm, most = job.batch.arm, len(self._places.names)
        on_cpu = self.device == "cpu"
        count = min(cores_of(arm, "cpu"), most) if on_cpu else devices_of(arm)
        job.places = self._places.take(count)
        return bool(job.places)


class ProcessPool(LocalPool):
    """A pool of trainer processes, at most one for each core or accelerator.

    A trainer stays for the next batch of its study.

    >>> pool = ProcessPool(store, device="cpu", trainers=4, project=folder)
    >>> pool.submit(batch)
    >>> for event in pool.events(seconds=1.0):
    ...     print(event)
    >>> pool.stop()
    """

    def __init__(
        self, store: Store, *, device: str, project: Path, trainers: int | None = None
    ) -> None:
        require_not_loading()
        super().__init__(store, device, trainers or cores(), project)
        self._idle: list[TrainerProcess] = []

    @property
    def trainers(self) -> int:
        return max(1, min(self._trainers, len(self._places.names)))

    def room(self) -> int:
        if any(not job.places for job in self._jobs):  # no job overtakes a waiting one
            return 0
        return super().room()

    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        super().submit(batch, is_last_try=is_last_try)
        self._begin()

    def events(self, seconds: float) -> Iterator[Event]:
        self._begin()
        if not self._events:
            wait([job.trainer.connection for job in self._jobs if job.trainer], seconds)
        with interrupts_held():  # a Ctrl-C within a message would lose it and all later ones
            for job in list(self._jobs):
                if job.trainer is not None:
                    self._hear(job, job.trainer)
        yield from self._pending()

    def stop(self) -> None:
        trainers = [job.trainer for job in self._jobs if job.trainer]
        try:
            for job in self._jobs:
                arm = job.batch.arm
                if job.trainer is None:
                    continue
                if isinstance(arm, OutsideArm) and not arm.epochs_reported:
                    job.trainer.interrupt()  # it would never look for an end
                else:
                    job.trainer.send(None)  # it ends after one checkpoint
            _wait_for_ends(trainers)
        except KeyboardInterrupt:  # a second Ctrl-C: end without a last checkpoint
            pass
        for trainer in [*trainers, *self._idle]:
            trainer.kill()
        for job in self._jobs:
            self._places.give_back(job.places)
        self._jobs.clear()
        self._idle.clear()
        self._events.clear()

    def _sent(self, batch: Batch) -> bytes:
        return packed(batch)

    def _begin(self) -> None:
        """Begin waiting jobs in their order, while there are trainers and places for them."""
        with interrupts_held():
            for job in self._jobs:
                under_way = sum(other.trainer is not None for other in self._jobs)
                if job.trainer is not None:
                    continue
                if under_way >= self.trainers or not self._take_places(job):
                    return
                job.trainer = self._trainer_at(job.places, job.batch.arm.study)
                job.trainer.send(job.content)

    def _trainer_at(self, places: Sequence[str], study: str) -> TrainerProcess:
        """Return the idle trainer of a study, or a new one in place of one that is idle.

        No two trainers share an accelerator.
        """
        visible = ",".join(places) if self.device == "cuda" else None
        for trainer in list(self._idle):
            is_free = (trainer.visible, trainer.study) == (visible, study)
            if is_free and not trainer.has_ended:
                self._idle.remove(trainer)
                return trainer
        in_use = sum(job.trainer is not None for job in self._jobs)
        for trainer in list(self._idle):
            is_in_the_way = not set(places).isdisjoint((trainer.visible or "").split(","))
            if is_in_the_way or in_use + len(self._idle) >= self.trainers:
                self._idle.remove(trainer)
                trainer.kill()
        return TrainerProcess(
            visible,
            study=study,
            project=self._project,
            root=self._store.root,
            device=self.device,
        )

    def _hear(self, job: LocalJob, trainer: TrainerProcess) -> None:
        """Handle the messages of a job's trainer."""
        try:
            for event in trainer.received():
                if event is None:
                    self._idle.append(trainer)
                    job.left.clear()
                    self._end(job)
                    return
                self._take(job, event)
        except EOFError:
            printed, how = trainer.printed(), trainer.kill()
            self._end(job, f"ended its process twice ({how}); {RETRY}", printed)

    def _take(self, job: LocalJob, event: Any) -> None:
        match event:
            case Progress():
                self.show(job.batch.number, event)
            case Stored(place, _) | Failed(place):
                run = list(job.batch.runs)[place]  # type: ignore[call-overload]
                job.left.remove(run)
                self._events.append(replace(event, run=run))
            case Unread(why, details):
                said = f"cannot be loaded in a trainer process: {why}"
                self._events.extend(
                    Failed(run, f"{name_of(run)}, {said}", details) for run in job.left
                )
                job.left.clear()
            case StoreError():
                raise event
            case str():
                self._store.report(event)

    def _end(self, job: LocalJob, why: str = "", details: str = "") -> None:
        self._places.give_back(job.places)
        self._events.extend(self._over(job, why, details))


def _wait_for_ends(trainers: Sequence[TrainerProcess]) -> None:
    """Wait until trainers have ended, or their time is over."""
    until, left = time.monotonic() + SECONDS_TO_STOP, list(trainers)
    while left and (seconds := until - time.monotonic()) > 0:
        wait([trainer.connection for trainer in left], seconds)
        for trainer in list(left):
            try:
                for _ in trainer.received():  # trainers store their results themselves
                    pass
            except EOFError:
                left.remove(trainer)


class _OwnFiles(Files):
    """The files of a batch in this process, and the parameters that it starts from."""

    def __init__(
        self, pool: InProcessPool, store: Store, batch: Batch, devices: Mapping[str, str]
    ) -> None:
        super().__init__(devices)
        self._pool, self._store, self._batch = pool, store, batch

    def show(self, progress: Progress) -> None:
        self._pool.show(self._batch.number, progress)

    def load_weights(self, run: Run) -> bytes:
        kept = self._pool.kept.get(run)
        weights = kept.weights if kept is not None else None
        return weights or stored_start(self._store, self._batch).weights or b""


class InProcessPool(LocalPool):
    """A pool that trains in `events`, in the session's own process.

    It is for users who want to see the output of training (`shows`) or to debug it. Its results
    are not stored, and it writes no checkpoints: anything may have run in this process, and what
    makes a result is recorded in trainers alone.

    >>> pool = InProcessPool(store, device="cpu", project=folder)
    >>> pool.submit(batch)
    >>> for event in pool.events(seconds=1.0):
    ...     print(event)
    """

    def __init__(self, store: Store, *, device: str, project: Path, shows: bool = False) -> None:
        super().__init__(store, device, 1, project)
        self._shows = shows
        self.kept: dict[Run, Result] = {}

    def events(self, seconds: float) -> Iterator[Event]:
        yield from self._pending()
        if not self._jobs or not seconds:  # 0: claims that are ready are judged first
            return
        [job] = self._jobs
        if not self._take_places(job):
            time.sleep(seconds)
            return
        try:
            yield from self._train(job)
        finally:
            self._places.give_back(job.places)
            self._jobs.clear()

    def stop(self) -> None:
        self._jobs.clear()
        self._events.clear()

    def _train(self, job: LocalJob) -> Iterator[Event]:
        batch, numbers = job.batch, self._places.names.index
        devices = {f"{self.device}:{numbers(name)}": name for name in job.places}
        use_accelerator(next(iter(devices)))
        files = _OwnFiles(self, self._store, batch, {} if self.device == "cpu" else devices)
        events = train_batch(
            list(batch.runs),
            engine=batch.engine,
            device=self.device,
            files=files,
            shows=self._shows,
        )
        for event in within(events, exit_refused):
            yield self._kept(event, batch) if isinstance(event, Trained) else event
        yield Ended(batch.number)

    def _kept(self, event: Trained, batch: Batch) -> Kept | Failed:
        run, how = event.run, {**event.provenance, **batch.origin}
        try:
            values = plain(event.values, "values")
        except (TypeError, ValueError) as error:
            return Failed(run, f"{name_of(run)}, has no result to keep: {error}")
        kept = Result(batch.keys[run], batch.runs[run], values, how, event.weights)
        self.kept[run] = kept
        return Kept(run, kept)
