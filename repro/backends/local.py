"""This machine, beside any number of other processes that share the store."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from functools import cached_property

from repro.backends.files import StoreFiles
from repro.backends.slots import TrainingSlots, slots_on
from repro.core.device import machine, resolve_device
from repro.core.progress import Progress
from repro.runs.backend import SECONDS_UNTIL_SAID
from repro.runs.batch import measure_program, train_batch
from repro.runs.events import Advanced, Ended, Event, Timed
from repro.runs.jobs import Job, Timing
from repro.store import Store

POLL_SECONDS = 0.1


class LocalBackend:
    """One of a session's processes: it carries out one job at a time, in a slot."""

    def __init__(
        self, store: Store, *, device: str, processes: int, session: str | None = None
    ) -> None:
        self.device = resolve_device(device)
        self.remarks: Sequence[str] = ()
        self.waits_for = ""
        self._store, self._processes = store, processes
        self._session = session or str(os.getpid())
        self._job: Job | None = None

    @property
    def machine(self) -> str:
        return machine(self.device)

    @property
    def slots(self) -> int:
        return self._slots.count

    def room(self) -> int:
        has_one = self._slots.take(SECONDS_UNTIL_SAID)
        self.waits_for = "" if has_one else f"a slot to train in, held by {self._slots.holders}"
        return int(has_one)

    def start(self, job: Job) -> None:
        self._job = job

    def events(self) -> Iterator[Event]:
        job, self._job = self._job, None
        if job is None:  # others train all that is missing
            self._slots.give_back()
            time.sleep(POLL_SECONDS)
            return
        yield from self._carry_out(job)
        yield Ended(job.number)
        self._slots.give_back()

    def stop(self) -> Sequence[Event]:
        self._slots.give_back()
        return ()

    def _carry_out(self, job: Job) -> Iterator[Event]:
        files = StoreFiles(self._store, job)
        if isinstance(job, Timing):
            speed = measure_program(job.arms, engine=job.engine, device=self.device, files=files)
            yield Timed(job.number, speed)
            return
        engine = job.speed.engine
        for event in train_batch(job.runs, engine=engine, device=self.device, files=files):
            yield Advanced(job.number, event) if isinstance(event, Progress) else event

    @cached_property
    def _slots(self) -> TrainingSlots:
        """The slots of this session; one that trains nothing needs none."""
        return slots_on(self.device, processes=self._processes, session=self._session)
