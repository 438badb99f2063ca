"""Slurm as a pool: jobs of submitit train batches, and store the results themselves.

Slurm and submitit decide where and when a job runs, and start it again if its node is lost or its
time is up. A job trains batches for at least 40 s, and leaves a small file of JSON for
each run that is stored or has failed.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from submitit import SlurmExecutor
from submitit.core.utils import FailedJobError, FailedSubmissionError, JobPaths
from submitit.helpers import DelayedSubmission

from repro.arm import Run
from repro.backends.batch_files import StoreFiles, stored
from repro.backends.cluster import device_of_nodes
from repro.backends.places import cores_of, devices_of, numbered_accelerators
from repro.backends.trainer import train_here
from repro.code import record
from repro.files import write_beside
from repro.own.training_run import FILES
from repro.runs.pool import Batch, Event, Failed, Job, Pool, Stored, TrainingStopped
from repro.store import Store

LOOK_SECONDS = 0.5
"""Seconds between two looks for the files that jobs leave."""

POLL_SECONDS = 10.0
"""Seconds between two looks at Slurm's queue, which other users query, too."""

PATIENCE_SECONDS = 60
"""The most seconds for a command of Slurm."""

SECONDS_OF_A_JOB = 40.0
"""A job is given batches until they take this long: its start takes some seconds."""

JOBS = 256
"""The most jobs in the queue at once: submitit's own number for `array_parallelism`."""

LONGEST_ARRAY = 256
"""The most jobs in an array; Slurm itself takes 1,001, if nobody has set another number."""

MINUTES = 60
"""The time limit of a job; a longer training goes on in the next job, from a checkpoint."""

TIME_LIMITS = 1000
"""The number of times that a job may reach its time limit and be started again."""

SHARE_OF_LIMIT = 0.5
"""The part of its time limit after which a job should have a checkpoint."""

SIGNAL_SECONDS = 90
"""Seconds before its time limit at which a job is told to end; fewer for a short limit."""

LOG_LINES = 30

SAID = ".json"
"""The end of the name of a file that says what became of a run."""

FOR_GPUS = ("gpus_per_node", "gpus_per_task", "gres")
"""The parameters of submitit that give a job GPUs."""

ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
}
"""The states of ended jobs; Slurm may still start some of them again."""


class JobState(NamedTuple):
    """The state of a job in Slurm's words, and the reason why it waits.

    If Slurm has forgotten a job, the state has no name.
    """

    name: str = ""
    reason: str = ""

    @property
    def is_over(self) -> bool:
        return self.name in ENDED or not self.name


PENDING = JobState("PENDING")
"""The state of a new job."""


class Said(NamedTuple):
    """The message of a job on one of its runs: the key of its result, or why it failed."""

    key: str = ""
    why: str = ""
    details: str = ""


@dataclass(eq=False)
class SlurmBatch(Job):
    """A batch, and the job of Slurm that trains it, maybe with others."""

    id: str = ""
    """The number of the job; empty until it is submitted."""
    state: JobState = PENDING
    polls_after_end: int = 0
    before: frozenset[str] = frozenset()
    """The keys of the results that its runs had before it."""


class SlurmPool(Pool[SlurmBatch]):
    """The Slurm jobs of a session; `parameters` are those of submitit, and its `folder`.

    >>> pool = SlurmPool(store, {"gpus_per_node": 1}, device="auto", project=folder)
    """

    def __init__(
        self, store: Store, parameters: Mapping[str, Any], *, device: str, project: Path
    ) -> None:
        has_gpus = any(parameters.get(name) for name in FOR_GPUS)
        device = device_of_nodes("A Slurm cluster", device, has_gpus=has_gpus)
        super().__init__(device, int(parameters.get("array_parallelism", JOBS)))
        self._store = store
        self._queue = SlurmQueue(store, parameters, device=device, project=project.absolute())
        self._unsent: defaultdict[tuple[int, int], list[list[SlurmBatch]]] = defaultdict(list)
        """The batches of the next jobs, by the cores and devices that they ask for."""
        self._asked: dict[str, tuple[SlurmBatch, Run]] = {}
        """The runs in jobs, by their keys."""
        self._said: dict[str, Said] = {}
        """What jobs said of runs, by their keys."""
        self._open: Counter[str] = Counter()
        """The batches of each job that are not over."""
        self._answers = True
        self._polled = self._refused = float("-inf")

    @property
    def waits_for(self) -> str:
        if self._jobs and not self._answers:
            return "Slurm, which does not answer"
        if any(job.state.name != "PENDING" for job in self._jobs):
            return ""
        reasons = ", ".join(sorted({job.state.reason for job in self._jobs} - {""}))
        return f"Slurm to start its jobs ({reasons})" if reasons else ""

    def room(self) -> int:
        if self._is_refused:
            return 0
        return self._trainers - len(self._open) - sum(map(_is_full, self._next_jobs()))

    def submit(self, batch: Batch, *, is_last_try: bool = False) -> None:
        job = SlurmBatch(batch, is_last_try, before=frozenset(self._stored_of(batch.keys.values())))
        self._jobs[job] = None
        self._asked.update({key: (job, run) for run, key in batch.keys.items()})
        jobs = self._unsent[cores_of(batch.arm, self.device), devices_of(batch.arm)]
        if not jobs or is_last_try or _is_full(jobs[-1]):
            jobs.append([])
        jobs[-1].append(job)

    def events(self, seconds: float) -> Iterator[Event]:
        for resources in list(self._unsent):
            self._send(*resources)
        deadline = time.monotonic() + seconds
        while not (events := list(self._come())) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        yield from events

    def stop(self) -> None:
        self._queue.cancel(self._open)
        for known in (self._jobs, self._unsent, self._asked, self._said, self._open):
            known.clear()

    @property
    def _is_refused(self) -> bool:
        return time.monotonic() - self._refused < POLL_SECONDS

    def _next_jobs(self) -> Iterator[list[SlurmBatch]]:
        for jobs in self._unsent.values():
            yield from jobs

    def _send(self, cores: int, devices: int) -> None:
        """Submit the next jobs that ask for these resources, as arrays.

        Slurm may have room for a smaller array. If it takes no more jobs while some are in the
        queue, the batches wait.
        """
        unsent, size = self._unsent[cores, devices], LONGEST_ARRAY
        while unsent and not self._is_refused:
            jobs = unsent[:size]
            batches = [[each.batch for each in job] for job in jobs]
            try:
                ids = self._queue.submit(batches, cores=cores, devices=devices)
            except TrainingStopped:
                if len(jobs) > 1:
                    size = len(jobs) // 2
                    continue
                if not self._open:
                    raise
                self._refused = time.monotonic()
                return
            del unsent[: len(jobs)]
            for id_, job in zip(ids, jobs, strict=True):
                self._open[id_] = len(job)
                for each in job:
                    each.id = id_

    def _come(self) -> Iterator[Event]:
        """Yield new events."""
        if not self._asked:
            return
        self._said.update(self._queue.said())
        for key, said in list(self._said.items()):
            if key not in self._asked:  # a job that was started again says it again
                del self._said[key]
            # on a network's disk a result may come later than the file that says so
            elif said.why or self._store.measured(said.key) is not None:
                del self._said[key]
                yield from self._done(key, said)
        if time.monotonic() - self._polled >= POLL_SECONDS:
            self._polled = time.monotonic()
            yield from self._look()

    def _stored_of(self, addresses: Iterable[str]) -> Iterator[str]:
        """Yield the keys of the results of runs."""
        for address in addresses:
            yield from (result.key for result in self._store.all_at(address))

    def _done(self, key: str, said: Said) -> Iterator[Event]:
        job, run = self._asked.pop(key)
        job.left.remove(run)
        yield Failed(run, said.why, said.details) if said.why else Stored(run, said.key)
        if not job.left:
            yield from self._over(job)

    def _over(self, job: SlurmBatch, why: str = "", details: str = "") -> Iterator[Event]:
        self._open[job.id] -= 1
        if not self._open[job.id]:
            del self._open[job.id]
        yield from super()._over(job, why, details)

    def _look(self) -> Iterator[Event]:
        """Look at Slurm's queue; end the batches of jobs that are over and did not say all."""
        states = self._queue.states()
        self._answers = states is not None
        if states is None:
            return
        sent = [job for job in self._jobs if job.id]
        for job in sent:
            job.state = states.get(job.id, JobState())
            job.polls_after_end = job.polls_after_end + 1 if job.state.is_over else 0
        for job in sent:
            # a job that Slurm starts again looks ended for a moment
            if job.polls_after_end > 1:
                for address in [job.batch.keys[run] for run in job.left]:
                    new = set(self._stored_of([address])) - job.before  # it could not say so
                    if new:
                        yield from self._done(address, Said(min(new)))
            if job.left and job.polls_after_end > 1:
                job.is_last_try |= job.state.name == "CANCELLED"
                how = f"its job {job.id} of Slurm ended as {job.state.name or 'over'}"
                why = f"failed on the cluster: {how}"
                yield from self._over(job, why, self._queue.end_of_log(job.id))


def _is_full(job: Sequence[SlurmBatch]) -> bool:
    """Return whether a job is given no further batch; a run in its last try is alone."""
    return job[0].is_last_try or sum(each.batch.seconds for each in job) >= SECONDS_OF_A_JOB


@dataclass
class SlurmTraining:
    """Trains batches on a node, and puts them into the shared store.

    submitit calls it, and calls it again after a time limit, a preemption or a lost node. Runs that
    are stored by then are left out, the others go on from their checkpoints.

    >>> SlurmTraining(store.root, project, [batch], folder, device="cpu", minutes=60)()
    """

    root: Path
    """The folder of the store."""
    project: Path
    batches: list[Batch]
    """The batches, each with the runs that are left."""
    folder: Path
    """The folder for the files that say what became of a run."""
    device: str
    minutes: int

    _began: float = field(default=0.0, init=False)
    _is_ending: bool = field(default=False, init=False)
    _has_stored: bool = field(default=False, init=False)

    def __call__(self) -> None:
        self._began = time.monotonic()
        store = Store(self.root)
        made = tempfile.mkdtemp(prefix="record-", dir=self.root / "tmp")
        record.start(project=str(self.project), store=str(self.root), folder=made)
        for number, batch in enumerate(list(self.batches)):
            devices = numbered_accelerators(self.device)
            files = StoreFiles(store, batch, show=lambda progress: None, devices=devices)
            for event in train_here(batch, device=self.device, files=files):
                if self._is_ending:  # submitit's exit was caught as an error of the training
                    sys.exit(-1)
                match stored(event, batch, store):
                    case Failed(run, why, details):
                        self._say(batch, run, Said("", why, details))
                    case Stored(run, key):
                        self._say(batch, run, Said(key))
                        self._has_stored = True
                # a job that is started again begins here
                left = [run for run in self.batches[number].runs if run != event.run]
                self.batches[number] = batch.part(left)

    def checkpoint(self) -> DelayedSubmission:
        """Return the job, for Slurm to start it again; submitit calls this when time is up.

        Raises TimeoutError if a new start would get no further, since there is no checkpoint.
        """
        took = time.monotonic() - self._began
        if took > SHARE_OF_LIMIT * 60 * self.minutes and not self._has_kept_something():
            raise TimeoutError(
                f"it came to no checkpoint within the time limit of {self.minutes} min; give its"
                " job more by --slurm time=MINUTES"
            )
        self._is_ending = True
        return DelayedSubmission(replace(self))

    def _say(self, batch: Batch, run: Run, said: Said) -> None:
        """Leave a file that says what became of a run."""
        write_beside(self.folder / f"{batch.keys[run]}{SAID}", json.dumps(said._asdict()))

    def _has_kept_something(self) -> bool:
        store = Store(self.root)
        return self._has_stored or any(
            store.checkpoints.load(key)
            or any(path.is_file() for path in (store.folder(key) / FILES).rglob("*"))
            for batch in self.batches
            for key in batch.keys.values()
        )


class SlurmQueue:
    """Submits, lists and cancels the jobs of a session, and hears from them.

    Its folder, which no other user may open, is made with the first job.
    """

    def __init__(
        self, store: Store, parameters: Mapping[str, Any], *, device: str, project: Path
    ) -> None:
        self._root, self._device, self._project = store.root, device, project
        self._parent = Path(parameters.get("folder", store.root / "slurm")).absolute()
        self._given = {name: value for name, value in parameters.items() if name != "folder"}
        self._minutes = int(parameters.get("time", MINUTES))
        known = SlurmExecutor._valid_parameters()
        if unknown := sorted(self._given.keys() - known):
            raise ValueError(
                f"--slurm {unknown[0]}=…: submitit has no parameter of this name; it has"
                f" {', '.join(sorted(known))}."
            )

    @cached_property
    def folder(self) -> Path:
        """The folder of submitit's files and logs, on a disk that all nodes share."""
        self._parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="repro-", dir=self._parent))

    @cached_property
    def _said(self) -> Path:
        folder = self.folder / "said"
        folder.mkdir()
        return folder

    def submit(self, jobs: Sequence[Sequence[Batch]], *, cores: int, devices: int) -> list[str]:
        """Submit jobs, each with some batches, as one array; return their numbers.

        Raises `TrainingStopped` where Slurm does not take them.
        """
        path = os.pathsep.join(os.path.abspath(place) for place in sys.path)
        given = [f"PYTHONPATH={path}", "OMP_NUM_THREADS=1"]  # with this process's modules
        python = shlex.join(["env", f"--chdir={self._project}", *given, sys.executable])
        try:
            executor = SlurmExecutor(self.folder, TIME_LIMITS, python=python)
            executor.update_parameters(**self._parameters(cores, devices))
            trainings = list(map(self._training, jobs))
            with executor.batch():
                submitted = list(map(executor.submit, trainings))
            return [str(job.job_id) for job in submitted]
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            why = " ".join(str(error).split()).removeprefix("sbatch: error: ").rstrip(".")
            raise TrainingStopped(f"Slurm did not take the jobs ({why})") from error

    def _training(self, batches: Sequence[Batch]) -> SlurmTraining:
        return SlurmTraining(
            self._root, self._project, list(batches), self._said, self._device, self._minutes
        )

    def states(self) -> dict[str, JobState] | None:
        """Return the states of the session's jobs; None if Slurm does not answer."""
        command = ["squeue", "--noheader", "--array", "--states=all", "--format=%i|%T|%r"]
        try:
            answer = subprocess.run(
                [*command, f"--name={self._parameters(1, 1)['job_name']}"],
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                check=True,
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        found = (line.split("|", 2) for line in answer.splitlines() if line.count("|") > 1)
        return {job: JobState(state, reason) for job, state, reason in found}

    def said(self) -> dict[str, Said]:
        """Return what jobs have said since, by the keys of the runs, and remove their files."""
        found: dict[str, Said] = {}
        for item in list(os.scandir(self._said)):
            if item.name.endswith(SAID):  # and not one that is being written
                with suppress(OSError, ValueError, TypeError):
                    content = json.loads(Path(item.path).read_bytes())
                    found[item.name.removesuffix(SAID)] = Said(**content)
                with suppress(OSError):
                    os.unlink(item.path)
        return found

    def cancel(self, jobs: Iterable[str]) -> None:
        """Cancel jobs; ignore Slurm's complaints about ended ones."""
        if jobs := sorted(jobs):
            subprocess.run(["scancel", *jobs], capture_output=True, timeout=PATIENCE_SECONDS)

    def end_of_log(self, job: str) -> str:
        """Return the last lines of a job's log, or say that there is no log."""
        path = JobPaths(self.folder, job, 0).stdout
        if not path.exists():
            return f"It left no log at {path}; that has to be on a disk that all nodes share."
        lines = path.read_text(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join([f"The end of its log, {path}:", *lines])

    def _parameters(self, cores: int, devices: int) -> dict[str, Any]:
        """Return the parameters of a job: ours, and over them those that the user has given."""
        given = self._given
        cores = max(cores, given.get("cpus_per_task", 1))
        gpus = given.get("gpus_per_node", 1)
        ours: dict[str, Any] = {
            "job_name": self.folder.name,
            "time": MINUTES,
            "nodes": 1,
            "ntasks_per_node": 1,
            "signal_delay_s": min(SIGNAL_SECONDS, 15 * self._minutes),
            "stderr_to_stdout": True,
        }
        joined = {
            "cpus_per_task": cores,
            # srun does not inherit it from sbatch
            "srun_args": [f"--cpus-per-task={cores}", *given.get("srun_args", ())],
            "additional_parameters": {"requeue": True, **given.get("additional_parameters", {})},
        }
        if self._device == "cuda" and not any(given.get(name) for name in FOR_GPUS[1:]):
            joined["gpus_per_node"] = max(gpus, devices) if isinstance(gpus, int) else gpus
        return {**ours, **given, **joined}
