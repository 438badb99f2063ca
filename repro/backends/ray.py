"""Ray as a pool: each batch is a task, whose results come back through Ray.

Where a task runs, and that it begins again when its node is lost, is Ray's. Nothing is started
here: a cluster that somebody else runs is joined, and left at the end.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from repro.arm import Run
from repro.backends.files import FilesWithoutCheckpoints, stored_weights
from repro.backends.node import code_paths, train_here
from repro.backends.places import Demand, numbered_accelerators
from repro.backends.ray_address import ClusterError, answers
from repro.backends.ray_cluster import device_for, environment_of, in_short, join, most
from repro.core.progress import Progress
from repro.runs.pool import (
    Batch,
    Ended,
    Event,
    Failed,
    Narrowed,
    Trained,
    TrainingStopped,
    failures,
)
from repro.store import Store

TASKS_A_TRAINER = 2
"""Under way at once: one in training, and one that is there when it ends."""

RETRIES = 3
"""The number of nodes or processes that a batch may lose before its runs fail."""

LOOK_SECONDS = 2.0
"""Between two looks whether the head is still there."""

PATIENCE_SECONDS = 10.0
"""The silence of a cluster's head after which the cluster is taken for lost."""


class RayPool:
    """A cluster, as a session sees it.

    >>> pool = RayPool(store, address="10.0.0.1:6379", device="auto", project=folder)
    """

    def __init__(self, store: Store, *, address: str, device: str, project: Path) -> None:
        self.machine = None  # each node has its own
        self.remarks: Sequence[str] = ()
        self.waits_for = ""  # how busy a cluster is has a place of its own to look at
        self._store, self._address, self._project = store, address, project.absolute()
        self._join()
        self.device = device_for(device)
        self._unit = "GPU" if self.device == "cuda" else "CPU"
        if not most(self._unit):
            raise ClusterError(
                f"The Ray cluster at {address} has no node with a {self._unit}; add one."
            )
        self.trainers = int(ray.cluster_resources()[self._unit])  # type: ignore[no-untyped-call]
        self._tasks: dict[Any, Batch] = {}
        self._weights: dict[str, Any] = {}
        self._refused: list[Event] = []
        self._looked = self._answered = time.monotonic()

    def plan_lines(self, batches: int) -> Sequence[str]:
        return ()  # the plan has said it all

    def room(self) -> int:
        return TASKS_A_TRAINER * self.trainers - len(self._tasks)

    def submit(self, batch: Batch) -> None:
        with self._explained():
            self._join()
            try:
                why, weights = self._lacking(batch), self._sent_weights(batch)
            except ValueError as error:  # it starts from parameters that there are none of
                why, weights = f"failed to train: ValueError: {error}", None
            if why:
                self._refused += failures(batch, why)
                self._refused.append(Ended(batch.number))
                return
            # packed by us: Ray would look for the modules of arms before their folders are known
            sent = pickle.dumps(batch), code_paths(self._project), self.device, weights
            task = _train.options(max_retries=RETRIES, **self._resources(batch)).remote(*sent)
            self._tasks[task] = batch

    def events(self, seconds: float) -> Iterator[Event]:
        refused, self._refused = self._refused, []
        yield from refused
        if not self._tasks:
            return
        with self._explained():
            ray.wait(list(self._tasks), timeout=0 if refused else seconds)
            for task in self._ended():
                yield from self._come_of(task)
                yield Ended(self._tasks.pop(task).number)
            self._require_head()

    def stop(self) -> Sequence[Event]:
        told: list[Event] = []
        with suppress(RayError, ConnectionError):
            if self._tasks:
                told += [event for task in self._ended() for event in self._come_of(task)]
            for task in self._tasks:
                ray.cancel(task, force=True)
        self._tasks.clear()
        self._weights.clear()
        ray.shutdown()
        return told

    def _join(self) -> None:
        if not ray.is_initialized():
            join(self._address, environment_of(self._project, self._store.root))

    def _lacking(self, batch: Batch) -> str:
        """Return in words that no node has as many devices; nothing where one has."""
        where = "the largest node of the Ray cluster"
        return Demand.of(batch.arm).lacking(most(self._unit), where=where, device=self.device)

    def _resources(self, batch: Batch) -> dict[str, Any]:
        """Return what a task is given: all devices that it asks for, of cores what a node has."""
        demand = Demand.of(batch.arm)
        cores = max(1, min(demand.cores(self.device), most("CPU")))
        return {"num_cpus": cores, "num_gpus": demand.devices if self.device == "cuda" else 0}

    def _sent_weights(self, batch: Batch) -> Any:
        """Return where in the cluster the parameters are that a batch starts from."""
        if batch.start is None:
            return None
        key = batch.start.key
        if key not in self._weights:
            weights = stored_weights(self._store, batch.start)
            self._weights[key] = ray.put(weights)
        return self._weights[key]

    def _ended(self) -> list[Any]:
        ended, _ = ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        return ended

    def _come_of(self, task: Any) -> Iterator[Event]:
        try:
            yield from ray.get(task)
        except RayError as error:
            yield from failures(self._tasks[task], f"failed on the cluster: {in_short(error)}")

    def _require_head(self) -> None:
        """Raise ConnectionError where the head is silent for long: Ray would wait for it."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if answers(self._address):
            self._answered = now
        elif now - self._answered > PATIENCE_SECONDS:
            raise ConnectionError("its head does not answer")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (RayError, ConnectionError, ClusterError) as error:
            raise TrainingStopped(
                f"The Ray cluster at {self._address} is lost ({in_short(error)}); what came back"
                " from it is stored, and the same command goes on once it is there again"
            ) from error


@ray.remote
def _train(
    packed: bytes, paths: Sequence[str], device: str, weights: bytes | None
) -> list[Trained | Failed | Narrowed]:
    """Train a batch on a node, and return what has come of it."""
    here = Path.cwd()  # where Ray has unpacked the project
    for path in reversed([str(here / place) for place in paths]):
        if path not in sys.path:
            sys.path.insert(0, path)
    batch: Batch = pickle.loads(packed)
    events = train_here(batch, device=device, files=_NodeFiles(device, weights))
    return [event for event in events if not isinstance(event, Progress)]


class _NodeFiles(FilesWithoutCheckpoints):
    """The files of a batch on a node, which are lost with it."""

    def __init__(self, device: str, weights: bytes | None) -> None:
        super().__init__(numbered_accelerators(device))
        self._weights = weights

    def load_weights(self, run: Run) -> bytes:
        assert self._weights is not None
        return self._weights
