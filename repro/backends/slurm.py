"""Slurm as a pool: each batch is a job of submitit, which itself stores its results.

Slurm and submitit decide where and when a job runs, and start it again if its node is lost or its
time is up. A killed session leaves its jobs in the queue. The next session on the same store finds
them there, since all jobs of a store have one name, and waits for them.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from submitit import SlurmExecutor, SlurmJob
from submitit.core.utils import FailedJobError, FailedSubmissionError, UncompletedJobError
from submitit.helpers import DelayedSubmission

from repro.backends.cluster import SlurmSettings, device_of_nodes
from repro.backends.files import StoreFiles
from repro.backends.places import cores_of, devices_of, numbered_accelerators
from repro.backends.trainer import train_here
from repro.own.training_run import FILES
from repro.runs.pool import Batch, Event, Failed, Job, Pool, Stored, TrainingStopped
from repro.store import Store

POLL_SECONDS = 0.5
"""Seconds between two looks for results in the store."""

LOOK_SECONDS = 10.0
"""Seconds between two looks at Slurm's queue, which other users query, too."""

PATIENCE_SECONDS = 60
"""The most seconds for a command of Slurm."""

TIME_LIMITS = 1000
"""The number of times that a job may reach its time limit and be started again."""

SHARE_OF_LIMIT = 0.5
"""The part of its time limit after which a job should have a checkpoint."""

SIGNAL_SECONDS = 90
"""Seconds before its time limit at which a job is told to end; fewer for a short limit."""

LOG_LINES = 30
KEY_LETTERS = 16
"""Letters of a key in the comment of a job; by them the next session finds its runs."""

ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
}
"""The states of ended jobs; Slurm may still start some of them again."""


class JobState(NamedTuple):
    """The state of a job in Slurm's words, the reason why it waits, and its comment.

    If Slurm has forgotten a job, the state has no name.
    """

    name: str = ""
    reason: str = ""
    comment: str = ""

    @property
    def is_over(self) -> bool:
        return self.name in ENDED or not self.name

    def has(self, key: str) -> bool:
        """Tell whether the job trains the run with this key."""
        return key[:KEY_LETTERS] in self.comment.split(",")


PENDING = JobState("PENDING")
"""The state of a new job."""


@dataclass(eq=False)
class QueuedJob(Job):
    """A job with its number in Slurm's queue."""

    id: str = ""
    state: JobState = PENDING
    looks_after_end: int = 0


class SlurmPool(Pool[QueuedJob]):
    """The Slurm jobs of a store.

    >>> pool = SlurmPool(store, SlurmSettings(gpus=1), device="auto", project=folder)
    """

    def __init__(
        self, store: Store, settings: SlurmSettings, *, device: str, project: Path
    ) -> None:
        device = device_of_nodes("A Slurm cluster", device, has_gpus=settings.gpus > 0)
        super().__init__(device, settings.max_jobs)
        self._store = store
        self._queue = SlurmQueue(
            store,
            replace(settings, gpus=max(settings.gpus, int(device == "cuda"))),
            project=project.absolute(),
        )
        self._states: dict[str, JobState] | None = {}
        self._looked = float("-inf")

    @property
    def waits_for(self) -> str:
        if self._jobs and self._states is None:
            return "Slurm, which does not answer"
        if any(job.state.name != "PENDING" for job in self._jobs):
            return ""
        reasons = ", ".join(sorted({job.state.reason for job in self._jobs} - {""}))
        return f"Slurm to start its jobs ({reasons})" if reasons else ""

    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        self._look()
        for id_, state in (self._states or {}).items():
            keys = batch.keys.items()
            theirs = [run for run, key in keys if state.has(key) and not state.is_over]
            if theirs:
                self._jobs.append(QueuedJob(batch.part(theirs), is_last_try, id=id_))
                batch = batch.part(run for run in batch.runs if run not in theirs)
        if batch.runs:
            id_ = self._queue.submit(batch, self.device)
            self._jobs.append(QueuedJob(batch, is_last_try, id=id_))

    def events(self, seconds: float) -> Iterator[Event]:
        deadline = time.monotonic() + seconds
        while not (events := list(self._come())) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        yield from events

    def stop(self) -> None:
        self._queue.cancel({job.id for job in self._jobs})
        self._jobs.clear()

    def _come(self) -> Iterator[Event]:
        """Yield new events."""
        if self._jobs:
            self._look()
        for job in list(self._jobs):
            failed = {each.run: each for each in self._queue.failed(job.id)}
            for run in list(job.left):  # a job that reports failures has stored all other runs
                is_stored = self._store.measured(job.batch.keys[run]) is not None
                if is_stored or run in failed:
                    job.left.remove(run)
                    yield Stored(run) if is_stored else failed[run]
            # a job that Slurm starts again looks ended for a moment
            if not job.left:
                yield from self._over(job)
            elif job.looks_after_end > 1:
                job.is_last_try |= job.state.name == "CANCELLED"
                how = f"its job {job.id} of Slurm ended as {job.state.name or 'over'}"
                why = f"failed on the cluster: {how}"
                yield from self._over(job, why, self._queue.end_of_log(job.id))

    def _look(self) -> None:
        """Ask Slurm for the states of the store's jobs, every `LOOK_SECONDS`."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        self._states = self._queue.states()
        if self._states is None:
            return
        for job in self._jobs:
            job.state = self._states.get(job.id, JobState())
            job.looks_after_end = job.looks_after_end + 1 if job.state.is_over else 0


@dataclass
class BatchJob:
    """Trains a batch on a node, and puts it into the shared store; returns the failed runs.

    submitit calls it, and calls it again after a time limit, a preemption or a lost node. Runs that
    are stored by then are left out, the others go on from their checkpoints.

    >>> BatchJob(store.root, batch, device="cpu", minutes=60)()
    []
    """

    root: Path
    """The folder of the store."""
    batch: Batch
    device: str
    minutes: int

    _began: float = field(default=0.0, init=False)
    _is_ending: bool = field(default=False, init=False)

    def __call__(self) -> list[Failed]:
        self._began = time.monotonic()
        store = Store(self.root)
        keys = self.batch.keys.items()
        self.batch = self.batch.part(run for run, key in keys if store.at(key) is None)
        devices = numbered_accelerators(self.device)
        files = StoreFiles(store, self.batch, show=lambda progress: None, devices=devices)
        failed = []
        for event in files.stored(train_here(self.batch, device=self.device, files=files)):
            if self._is_ending:  # submitit's exit was caught as an error of the training
                sys.exit(-1)
            if isinstance(event, Failed):
                failed.append(event)
        return failed

    def checkpoint(self) -> DelayedSubmission:
        """Return the job, for Slurm to start it again; submitit calls this when time is up.

        Raises TimeoutError if a new start would get no further, since there is no checkpoint.
        """
        took = time.monotonic() - self._began
        if took > SHARE_OF_LIMIT * 60 * self.minutes and not self._has_kept_something():
            raise TimeoutError(
                f"it came to no checkpoint within the time limit of {self.minutes} min; give its"
                " job more by --slurm-time"
            )
        self._is_ending = True
        return DelayedSubmission(replace(self))

    def _has_kept_something(self) -> bool:
        store = Store(self.root)
        return any(
            store.measured(key)
            or store.checkpoints.load(key)
            or any(path.is_file() for path in (store.folder(key) / FILES).rglob("*"))
            for key in self.batch.keys.values()
        )


class SlurmQueue:
    """Submits, lists and cancels the jobs of one store, which all have the same name."""

    def __init__(self, store: Store, settings: SlurmSettings, *, project: Path) -> None:
        self.folder = (settings.folder or store.root / "slurm").absolute()
        self._root, self._settings, self._project = store.root, settings, project
        place = os.path.realpath(store.root)
        self._name = f"repro-{hashlib.sha256(place.encode()).hexdigest()[:16]}"

    def submit(self, batch: Batch, device: str) -> str:
        """Submit a batch as a job; return the job's number."""
        self.folder.mkdir(parents=True, exist_ok=True)
        executor = SlurmExecutor(self.folder, max_num_timeout=TIME_LIMITS, python=self._python())
        executor.update_parameters(**self._parameters(batch))
        job = BatchJob(self._root, batch, device, self._settings.minutes)
        try:
            return str(executor.submit(job).job_id)
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            why = " ".join(str(error).split()).removeprefix("sbatch: error: ").rstrip(".")
            raise TrainingStopped(f"Slurm did not take the jobs ({why})") from error

    def states(self) -> dict[str, JobState] | None:
        """Return the states of the store's jobs, of all sessions; None if Slurm does not answer."""
        command = ["squeue", "--noheader", "--states=all", "--format=%i|%T|%k|%r"]
        try:
            said = subprocess.run(
                [*command, f"--name={self._name}"],
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                check=True,
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        found = (line.split("|", 3) for line in said.splitlines() if line.count("|") > 2)
        return {job: JobState(state, why, keys) for job, state, keys, why in found}

    def failed(self, job: str) -> Sequence[Failed]:
        """Return the failed runs of an ended job; none before its end, or if it crashed."""
        known: SlurmJob[Sequence[Failed]] = SlurmJob(self.folder, job)
        try:
            return known.result() if known.paths.result_pickle.exists() else ()
        except (FailedJobError, UncompletedJobError):
            return ()

    def cancel(self, jobs: Iterable[str]) -> None:
        """Cancel jobs; ignore Slurm's complaints about ended ones."""
        if jobs := sorted(jobs):
            subprocess.run(["scancel", *jobs], capture_output=True, timeout=PATIENCE_SECONDS)

    def end_of_log(self, job: str) -> str:
        """Return the last lines of a job's log, or say that there is no log."""
        path = SlurmJob(self.folder, job).paths.stdout
        if not path.exists():
            return f"It left no log at {path}; that has to be on a disk that all nodes share."
        lines = path.read_text(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join([f"The end of its log, {path}:", *lines])

    def _python(self) -> str:
        """Return a shell command for Python with this process's module path."""
        path = os.pathsep.join(os.path.abspath(place) for place in sys.path)
        given = [f"PYTHONPATH={path}", "OMP_NUM_THREADS=1"]
        return shlex.join(["env", f"--chdir={self._project}", *given, sys.executable])

    def _parameters(self, batch: Batch) -> dict[str, object]:
        wishes = self._settings
        cores = cores_of(batch.arm, "cuda" if wishes.gpus else "cpu")
        gpus = max(wishes.gpus, devices_of(batch.arm))
        parameters: dict[str, object] = {
            "job_name": self._name,
            "comment": ",".join(key[:KEY_LETTERS] for key in batch.keys.values()),
            "time": wishes.minutes,
            "nodes": 1,
            "ntasks_per_node": 1,
            "cpus_per_task": cores,
            "srun_args": [f"--cpus-per-task={cores}"],  # srun does not inherit it from sbatch
            "signal_delay_s": min(SIGNAL_SECONDS, 15 * wishes.minutes),
            "stderr_to_stdout": True,
            "additional_parameters": {"requeue": True},
            "partition": wishes.partition,
            "account": wishes.account,
            "mem": wishes.memory and f"{max(1, round(wishes.memory * 1024))}M",
            "gpus_per_node": gpus if wishes.gpus else None,
        }
        return {name: value for name, value in parameters.items() if value is not None}
