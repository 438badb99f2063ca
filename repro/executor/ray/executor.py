"""Trains on a Ray cluster: batches are tasks, their results come back into the store here.

Where a task runs, on which resources, and that it runs again when its node is lost, is Ray's. Ours
is which runs, held by the store's locks as anywhere, and to take in what comes back.
"""

from __future__ import annotations

import resource
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from repro.arm import Run
from repro.executor.asker import Asker, Claimed
from repro.executor.batch import name_of
from repro.executor.protocol import TrainingStopped, Wanted, Watch, Work, require_engine
from repro.executor.provenance import working_copy_state
from repro.executor.ray.cluster import Cluster, in_short
from repro.executor.ray.desk import Done, End, News, Progress
from repro.executor.ray.node import train
from repro.executor.ray.parcels import ClusterPace, Parcels
from repro.store import Store

POLL_SECONDS = 0.1
LOOK_SECONDS = 1.0
"""Between two looks at what is missing, at least, while there is something to send."""

BATCHES_A_SLOT = 2
"""Under way at once: one in training, and one that is there when it ends."""

RETRIES = 8
"""How often a batch may lose its node, or end its process, before its runs are said to fail."""


@dataclass
class Sign:
    """What is heard of a batch in training: since when, since which step, and last."""

    since: float
    first_step: int
    last: Progress

    @property
    def rate(self) -> float:
        """Steps of runs in a second."""
        steps = (self.last.step - self.first_step) * self.last.runs
        return steps / (time.monotonic() - self.since) if steps else 0.0


@dataclass
class Batch:
    """Runs on their way."""

    claimed: Claimed
    keys: list[str]
    task: Any
    heard: Sign | None = None


class RayExecutor(Asker):
    """A cluster, as one of `askers` processes."""

    pace: ClusterPace

    def __init__(
        self, store: Store, *, address: str, device: str, engine: str, askers: int, root: Path
    ) -> None:
        require_engine(engine)
        self.cluster = Cluster(address, device=device, root=root, store=store.root)
        self.parcels = Parcels(self, self.cluster, root)
        super().__init__(store, ClusterPace(store, self.cluster, self.parcels, engine=engine))
        self.remarks += self.cluster.remarks
        self.askers, self.most_runs = askers, _locks_allowed()
        self.batches: dict[int, Batch] = {}
        self.number = self.seen = 0
        self.over: list[int] = []

    def work(self, wanted: Wanted, watch: Watch) -> None:
        with self._explained(), self.cluster.heeding_ctrl_c():
            try:
                self._work(wanted, watch)
            except (KeyboardInterrupt, SystemExit):
                self.cluster.interrupted = False  # it has been heard
                with suppress(RayError):
                    self._collect()
                raise
            finally:
                self._leave()

    def _work(self, wanted: Wanted, watch: Watch) -> None:
        while wanted_now := wanted():
            ready = self._ready(wanted_now)
            looked = time.monotonic()
            while True:
                self._send(ready)
                watch(self._status())
                ended = self._take()
                if not any(ready) and (ended or not self.batches):
                    break
                if time.monotonic() - looked > LOOK_SECONDS and not ended:
                    break

    def _ready(self, wanted: Sequence[Run]) -> list[deque[Run]]:
        """What could be sent now, by program."""
        startable = self.startable(wanted)
        self.pace.learn([run.arm for run in startable])
        programs = self.programs(wanted)
        left = sum(self.seconds(runs) for runs in programs) / self.cluster.slots
        self.work_left = Work(looked_at=time.time(), missing=len(wanted), seconds_left=left)
        sent = {run for batch in self.batches.values() for run in batch.claimed.runs}
        ready = (runs for runs in programs if runs[0] in startable)
        return [deque(run for run in runs if run not in sent) for runs in ready]

    def _send(self, ready: Sequence[deque[Run]]) -> None:
        """Keep the cluster busy: as many batches as it has room for."""
        room = -(-BATCHES_A_SLOT * self.cluster.slots // self.askers)
        for candidates in ready:
            while candidates and len(self.batches) < room and self._held() < self.most_runs:
                claimed = self.claim(candidates, among=self.cluster.slots)
                try:
                    if claimed.runs:
                        self._send_batch(claimed)
                except BaseException:
                    claimed.close()
                    raise

    def _held(self) -> int:
        return sum(len(batch.keys) for batch in self.batches.values())

    def _send_batch(self, claimed: Claimed) -> None:
        runs = claimed.runs
        pace = self.pace.of(runs[0].arm)
        try:
            parcel = self.parcels.of(runs)
        except ValueError as error:  # it starts from parameters that there are none of
            for run in runs:
                self.failed[run] = f"{name_of(run)}, failed to train: ValueError: {error}"
            claimed.close()
            return
        self.number += 1
        keys = [self.key(run) for run in runs]
        desk = self.cluster.desk
        saved = ((place, self.store.checkpoints.load(key)) for place, key in enumerate(keys))
        ray.get([desk.keep.remote((self.number, place), x) for place, x in saved if x])
        options = {**self.cluster.resources(pace.memory), "max_retries": RETRIES}
        task = train.options(**options).remote(parcel, self.number, keys, pace, desk)
        self.batches[self.number] = Batch(claimed, keys, task)

    def _take(self) -> int:
        """Take in what came back; how many batches have ended."""
        tasks = {batch.task: number for number, batch in self.batches.items()}
        if not tasks:
            time.sleep(POLL_SECONDS)
            return 0
        ray.wait(list(tasks), timeout=POLL_SECONDS)
        ended, _ = ray.wait(list(tasks), num_returns=len(tasks), timeout=0)
        self._collect()  # what an ended task left is at the desk by now
        for task in ended:
            self._close(tasks[task])
        return len(ended)

    def _collect(self) -> None:
        news: News = self.cluster.ask_desk("collect", self.seen, self.over)
        self.seen, self.over = news.serial, []
        for (number, place), end in news.ends:
            if number in self.batches:
                self._end(self.batches[number].claimed.runs[place], end)
        for (number, place), payload in news.checkpoints:
            if number in self.batches:
                self.store.checkpoints.save(self.batches[number].keys[place], payload)
        for number, progress in news.progress.items():
            if batch := self.batches.get(number):
                batch.heard = batch.heard or Sign(time.monotonic(), progress.step, progress)
                batch.heard.last = progress
        for number, width in news.widest.items():
            if batch := self.batches.get(number):
                self.widest[batch.claimed.runs[0].arm.program] = width

    def _end(self, run: Run, end: End) -> None:
        if isinstance(end, Done):
            how = {**end.how, **working_copy_state()}
            self.store.put(self.identity(run), end.values, how, weights=end.weights)
            self.known[run] = end.values
            self.trained += 1
        else:
            self.failed[run] = end.why

    def _close(self, number: int) -> None:
        batch = self.batches[number]
        try:
            ray.get(batch.task)
        except RayError as error:
            for run in batch.claimed.runs:
                if run not in self.known and run not in self.failed:
                    self.failed[run] = f"{name_of(run)}, failed on the cluster: {in_short(error)}"
        self._forget(number)

    def _forget(self, number: int) -> None:
        self.over.append(number)
        self.batches.pop(number).claimed.close()

    def _status(self) -> Work:
        heard = [batch.heard for batch in self.batches.values() if batch.heard]
        if not heard:
            return self.work_left
        return replace(
            self.work_left,
            program=f"{len(self.batches)} batches on {len(self.cluster.nodes)} nodes",
            runs=sum(sign.last.runs for sign in heard),
            step=sum(sign.last.step for sign in heard),
            total=sum(sign.last.total for sign in heard),
            run_steps_per_second=sum(sign.rate for sign in heard),
        )

    def _leave(self) -> None:
        """Stop what is still in training there, and let others have it."""
        for number, batch in list(self.batches.items()):
            with suppress(RayError):
                ray.cancel(batch.task, force=True)
            self._forget(number)
        ray.shutdown()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (RayError, ConnectionError) as error:
            raise TrainingStopped(
                f"The Ray cluster at {self.cluster.address} is lost ({in_short(error)}); what came"
                " back from it is stored, and the same command goes on once it is there again"
            ) from error


def _locks_allowed() -> int:
    """Runs that may be held at once: a lock is an open file, and others need some too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2
