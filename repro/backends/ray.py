"""Ray as a pool: each batch is a task, and its results come back through Ray, run by run.

Ray decides where a task runs, and starts it again if its node is lost. The pool starts no cluster:
it joins an existing one, and leaves it at the end.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from repro.backends.batch_files import stored, stored_start
from repro.backends.cluster import ClusterError, device_of_nodes, require_somebody
from repro.backends.places import cores_of, devices_of, numbered_accelerators, require_devices
from repro.backends.trainer import train_here
from repro.code import record
from repro.code.trace import TRACER, Trace
from repro.data.locate import data_folder
from repro.own.training_run import Files
from repro.runs.pool import Batch, Event, Failed, Job, Pool, Trained, TrainingStopped
from repro.store import Store

TASKS_A_TRAINER = 2
"""Tasks submitted at once: one in training, and the next one."""

RETRIES = 3
"""The number of times that Ray starts a batch again after it lost a node or a process."""

POLL_SECONDS = 2.0
"""Seconds between two checks that the head node answers."""

PATIENCE_SECONDS = 10.0
"""Seconds without an answer of the head node after which the cluster counts as lost."""

NO_CODE = (".git", ".repro", "**/__pycache__", "**/.pytest_cache", "**/.mypy_cache")
"""Patterns of files that no node needs."""


@dataclass(eq=False)
class RayJob(Job):
    """A job and its Ray task."""

    task: Any = None


class RayPool(Pool[RayJob]):
    """The tasks of a session on a Ray cluster.

    >>> pool = RayPool(store, address="10.0.0.1:6379", device="auto", project=folder)
    """

    def __init__(self, store: Store, *, address: str, device: str, project: Path) -> None:
        self._store, self._address, self._project = store, address, project.absolute()
        self._join()
        kind = device_of_nodes("A Ray cluster", device, has_gpus=most("GPU") > 0)
        self._unit = "GPU" if kind == "cuda" else "CPU"
        if not most(self._unit):
            raise ClusterError(
                f"The Ray cluster at {address} has no node with a {self._unit}; add one."
            )
        super().__init__(kind, int(ray.cluster_resources()[self._unit]))  # type: ignore[no-untyped-call]
        self._polled = self._answered = time.monotonic()

    def room(self) -> int:
        return TASKS_A_TRAINER * self.trainers - len(self._jobs)

    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        job = RayJob(batch, is_last_try)
        with self._explained():
            self._join()
            try:
                where = "the largest node of the Ray cluster"
                require_devices(batch.arm, most(self._unit), where=where, device=self.device)
                start = stored_start(self._store, batch) if batch.arm.starts_from else None
                trace = self._store.trace(start.made.trace) if start is not None else None
                weights = start.weights if start is not None else None
            except ValueError as error:
                self._jobs[job] = None
                self._refuse(job, str(error))
                return
            # pickled here: Ray would import the modules of arms before the paths are set
            sent = pickle.dumps(batch), code_paths(self._project), self.device, weights, trace
            options = {
                "max_retries": RETRIES,
                "num_returns": "streaming",
                **self._resources(batch),
            }
            job.task = _train.options(**options).remote(*sent)
            self._jobs[job] = None

    def events(self, seconds: float) -> Iterator[Event]:
        yield from self._pending()
        if not self._jobs:
            return
        with self._explained():
            for job in self._heard(seconds):
                yield from self._come_of(job)
            self._require_head()

    def stop(self) -> None:
        with suppress(RayError, ConnectionError):
            for job in self._heard(0):
                for _ in self._come_of(job):  # stores the results
                    pass
            for job in self._jobs:
                ray.cancel(job.task, force=True)
        self._jobs.clear()
        ray.shutdown()

    def _join(self) -> None:
        """Join the cluster; raises `ClusterError` where it fails."""
        if ray.is_initialized():
            return
        require_somebody(self._address)
        try:
            ray.init(
                address=self._address,
                runtime_env=environment_of(self._project, self._store.root),
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except Exception as error:  # Ray raises a dozen kinds of errors
            raise ClusterError(
                f"The Ray cluster at {self._address} cannot be joined ({in_short(error)}); it needs"
                " the same version of Ray as here."
            ) from error

    def _resources(self, batch: Batch) -> dict[str, Any]:
        """Return the resources of a task: all devices of its arm, but no more cores than a node."""
        cores = max(1, min(cores_of(batch.arm, self.device), most("CPU")))
        return {"num_cpus": cores, "num_gpus": devices_of(batch.arm) * (self.device == "cuda")}

    def _heard(self, seconds: float) -> list[RayJob]:
        """Return the jobs with news; wait for the first for at most this many seconds."""
        jobs = {job.task: job for job in self._jobs}
        if jobs:
            ray.wait(list(jobs), timeout=seconds)
            heard, _ = ray.wait(list(jobs), num_returns=len(jobs), timeout=0)
            return [jobs[task] for task in heard]
        return []

    def _come_of(self, job: RayJob) -> Iterator[Event]:
        why = "had no result when its task ended"
        try:
            with suppress(StopIteration):  # after a lost node, the end too can be `next_ready`
                while job.task.next_ready():
                    event = ray.get(next(job.task))
                    if event.run in job.left:  # else Ray has trained the batch again
                        job.left.remove(event.run)
                        yield stored(event, job.batch, self._store)
            if not job.task.is_finished():
                return
        except RayError as error:
            job.is_last_try = True  # Ray itself has tried it again
            why = f"failed on the cluster: {in_short(error)}"
        yield from self._over(job, why)

    def _require_head(self) -> None:
        """Raise `ClusterError` if the head has not answered for long; Ray itself would wait."""
        now = time.monotonic()
        if now - self._polled < POLL_SECONDS:
            return
        self._polled = now
        try:
            require_somebody(self._address)
            self._answered = now
        except ClusterError:
            if now - self._answered > PATIENCE_SECONDS:
                raise

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
    packed: bytes, paths: Sequence[str], device: str, weights: bytes | None, start: Trace | None
) -> Iterator[Trained | Failed]:
    """Train a batch on a node; yields each result and failure."""
    here = Path.cwd()  # where Ray has unpacked the project
    for path in reversed([str(here / place) for place in paths]):
        if path not in sys.path:
            sys.path.insert(0, path)
    made = tempfile.mkdtemp()
    record.start(project=str(here), store=made, folder=made)
    if start is not None:
        TRACER.goes_on_from(start)
    batch: Batch = pickle.loads(packed)
    files = Files(numbered_accelerators(device), weights=weights)
    yield from train_here(batch, device=device, files=files)


def environment_of(project: Path, store: Path) -> dict[str, Any]:
    """Return Ray's runtime environment: the project with its uncommitted changes.

    It leaves out files in `.gitignore`, the store, data, and virtual environments.
    """
    folders = [store, data_folder(), *(mark.parent for mark in project.glob("*/pyvenv.cfg"))]
    below = [each.absolute() for each in folders if each.absolute().is_relative_to(project)]
    places = [f"/{each.relative_to(project)}" for each in below if each != project]
    data = {"REPRO_DATA": os.environ["REPRO_DATA"]} if os.environ.get("REPRO_DATA") else {}
    return {
        "working_dir": str(project),
        "excludes": [*NO_CODE, *places],
        "env_vars": {"OMP_NUM_THREADS": "1", **data},
    }


def code_paths(project: Path) -> list[str]:
    """Return the entries of `sys.path` below a project, as relative paths, in their order.

    Folders of virtual environments are left out.

    >>> code_paths(Path.cwd())
    ['.', 'claims']
    """
    places = [Path(place).absolute() for place in sys.path]
    below = [path for path in places if path.is_relative_to(project)]
    own = [path for path in below if not any((p / "pyvenv.cfg").is_file() for p in path.parents)]
    return list(dict.fromkeys(str(path.relative_to(project)) for path in own))


def most(unit: str) -> int:
    """Return the number of CPUs or GPUs (`unit`) of the largest node of the cluster."""
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return max((int(node["Resources"].get(unit, 0)) for node in nodes if node["Alive"]), default=0)


def in_short(error: BaseException) -> str:
    """Return the message of an error of Ray as one line."""
    cause = getattr(error, "cause", None)  # the error of the task; Ray's text is a traceback
    if isinstance(cause, BaseException):
        return f"{type(cause).__name__}: {in_short(cause)}"
    line = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return textwrap.shorten(line.rstrip("."), 240, placeholder=" …")
