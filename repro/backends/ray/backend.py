"""A Ray cluster: jobs are its tasks, and what comes of them comes back through a mailbox.

Where a task runs, on which resources, and that it runs again when its node is lost, is Ray's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from repro.arm import Run
from repro.backends.devices import Demand
from repro.backends.open_files import locks_allowed
from repro.backends.ray.cluster import Cluster, in_short
from repro.backends.ray.mailbox import Done, End, Mail, Place
from repro.backends.ray.node import time_program, train
from repro.backends.ray.shipment import Shipments
from repro.core.speed import Speed
from repro.runs.backend import TrainingStopped
from repro.runs.events import Advanced, Ended, Event, Failed, Narrowed, Timed, Trained
from repro.runs.identity import name_of
from repro.runs.jobs import Batch, Job, Timing
from repro.store import Store

POLL_SECONDS = 0.1

JOBS_A_SLOT = 2
"""Under way at once: one in training, and one that is there when it ends."""

RETRIES = 8
"""The number of nodes or processes that a batch may lose before its runs fail."""


@dataclass
class _Sent:
    """A job on its way."""

    job: Job
    task: Any
    ended: set[Run] = field(default_factory=set)


class RayBackend:
    """A cluster, as one of a session's processes sees it."""

    def __init__(
        self,
        store: Store,
        *,
        address: str,
        device: str,
        processes: int,
        project: Path,
        same_machine: bool,
    ) -> None:
        self.cluster = Cluster(
            address, device=device, project=project, store=store.root, same_machine=same_machine
        )
        self.remarks: Sequence[str] = self.cluster.remarks
        self._store, self._processes = store, processes
        self._shipments = Shipments(store, project, self.cluster.device)
        self._most_runs = locks_allowed()
        self._sent: dict[int, _Sent] = {}
        self._refused: list[Event] = []
        self._seen, self._over = 0, list[int]()
        self._is_lost = False
        self._hearing = ExitStack()

    @property
    def device(self) -> str:
        return self.cluster.device

    @property
    def machine(self) -> str | None:
        return self.cluster.machine

    @property
    def waits_for(self) -> str:
        return ""  # how busy a cluster is has a place of its own to look at

    @property
    def slots(self) -> int:
        return self.cluster.slots

    def plan_lines(self, *, timings: int, batches: int) -> Sequence[str]:
        return ()  # the plan has said it all

    def room(self) -> int:
        if not self._sent:
            self._hearing.close()
            self._hearing.enter_context(self.cluster.heeding_ctrl_c())
        batches = (sent.job for sent in self._sent.values() if isinstance(sent.job, Batch))
        if sum(len(batch.runs) for batch in batches) >= self._most_runs:
            return 0
        most = -(-JOBS_A_SLOT * self.slots // self._processes)
        return most - len(self._sent)

    def start(self, job: Job, tell: Callable[[Advanced], None]) -> None:
        if isinstance(job, Batch) and (lacking := self.cluster.lacking(Demand.of(job.arm))):
            self._refuse(job, lacking)
            return
        with self._explained():
            try:
                task = self._send(job)
            except ValueError as error:  # it starts from parameters that there are none of
                self._refuse(job, f"failed to train: ValueError: {error}")
            else:
                self._sent[job.number] = _Sent(job, task)

    def _refuse(self, job: Job, why: str) -> None:
        """Let a job end at once, and its runs fail."""
        runs = job.runs if isinstance(job, Batch) else ()
        self._refused += [Failed(run, f"{name_of(run)}, {why}") for run in runs]
        self._refused.append(Ended(job.number))

    def events(self) -> Iterator[Event]:
        with self._explained():
            refused, self._refused = self._refused, []
            yield from refused
            tasks = {sent.task: number for number, sent in self._sent.items()}
            if not tasks:
                return
            ray.wait(list(tasks), timeout=POLL_SECONDS)
            ended, _ = ray.wait(list(tasks), num_returns=len(tasks), timeout=0)
            yield from self._collect()  # what an ended task left is in the mailbox by now
            for task in ended:
                yield from self._close(tasks[task])

    def stop(self) -> Sequence[Event]:
        events: list[Event] = []
        self.cluster.interrupted = False  # if it was, it has been heard
        with suppress(RayError, ConnectionError):
            if not self._is_lost:
                events += self._collect()
        for sent in self._sent.values():
            with suppress(RayError):
                ray.cancel(sent.task, force=True)
        self._sent.clear()
        ray.shutdown()
        self._hearing.close()
        return events

    def _send(self, job: Job) -> Any:
        shipment = self._shipments.pack(job)
        if isinstance(job, Timing):
            options = self.cluster.resources(memory=0)
            return time_program.options(**options).remote(shipment, job.engine)
        mailbox = self.cluster.mailbox
        saved = ((place, self._store.checkpoints.load(key)) for place, key in enumerate(job.keys))
        ray.get([mailbox.leave_checkpoint.remote(Place(job.number, p), x) for p, x in saved if x])
        resources = self.cluster.resources(job.speed.memory, Demand.of(job.arm))
        options = {**resources, "max_retries": RETRIES}
        task = train.options(**options)
        return task.remote(shipment, job.number, job.keys, job.speed.engine, mailbox)

    def _collect(self) -> Iterator[Event]:
        mail: Mail = self.cluster.ask_mailbox("collect", self._seen, self._over)
        self._seen, self._over = mail.serial, []
        for place, end in mail.ends:
            if place.batch in self._sent:
                yield self._ended(place, end)
        for place, payload in mail.checkpoints:
            if place.batch in self._sent:
                self._store.checkpoints.save(self._batch(place.batch).keys[place.run], payload)
        for number, progress in mail.progress.items():
            if number in self._sent:
                yield Advanced(number, progress)
        for number, width in mail.widths.items():
            if number in self._sent:
                yield Narrowed(self._batch(number).arm.program, width)

    def _batch(self, number: int) -> Batch:
        job = self._sent[number].job
        assert isinstance(job, Batch)
        return job

    def _ended(self, place: Place, end: End) -> Event:
        run = self._batch(place.batch).runs[place.run]
        self._sent[place.batch].ended.add(run)
        if isinstance(end, Done):
            return Trained(run, end.values, end.provenance, end.weights)
        return Failed(run, end.why, end.details)

    def _close(self, number: int) -> Iterator[Event]:
        """Yield what is to be said of a task that has ended."""
        sent = self._sent.pop(number)
        self._over.append(number)
        if isinstance(sent.job, Timing):
            yield Timed(number, _speed(sent.task))
        else:
            yield from self._lost(sent, sent.job)
        yield Ended(number)

    def _lost(self, sent: _Sent, batch: Batch) -> Iterator[Event]:
        """Yield the runs of a batch that ended with its process."""
        try:
            ray.get(sent.task)
        except RayError as error:
            for run in batch.runs:
                if run not in sent.ended:
                    why = f"{name_of(run)}, failed on the cluster: {in_short(error)}"
                    yield Failed(run, why)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (RayError, ConnectionError) as error:
            self._is_lost = True
            raise TrainingStopped(
                f"The Ray cluster at {self.cluster.address} is lost ({in_short(error)}); what came"
                " back from it is stored, and the same command goes on once it is there again"
            ) from error


def _speed(task: Any) -> Speed:
    try:
        speed: Speed = ray.get(task)
    except RayTaskError:
        return Speed("loop", 1, math.inf)  # training will tell why
    return speed
