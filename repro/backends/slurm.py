"""Slurm as a pool: each batch is a job of submitit's, which stores its results itself.

Where and when a job runs, and that it runs again when its node is lost or its time is up, is the
matter of Slurm and submitit. A session that is killed leaves its jobs. The next one on the same
store finds them in the queue, by the name that all jobs of a store have, and waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from repro.arm import Run
from repro.backends.node import part_of
from repro.backends.slurm_job import BatchJob
from repro.backends.slurm_queue import GONE, PENDING, JobState, SlurmQueue
from repro.backends.slurm_settings import SlurmSettings
from repro.runs.identity import name_of
from repro.runs.pool import SECONDS_UNTIL_SAID, Batch, Ended, Event, Failed, Narrowed, Stored
from repro.runs.provenance import commit_of
from repro.store import Store

POLL_SECONDS = 0.5
"""Between two looks for results in the store."""

LOOK_SECONDS = 10.0
"""Between two looks at Slurm's queue, which others ask too."""

TRIES = 2
"""Jobs that a run may end before it fails."""


@dataclass
class _Job:
    """A job in the queue, and the runs of one batch that it is to train."""

    id: str
    batch: Batch
    attempt: int = 1
    is_ours: bool = True
    state: JobState = PENDING
    looks_after_end: int = 0
    left: dict[Run, str] = field(init=False)
    """The runs that nothing has come of, with their keys."""

    def __post_init__(self) -> None:
        self.left = dict(zip(self.batch.runs, self.batch.keys, strict=True))

    def see(self, state: JobState) -> None:
        """Take note of the state that Slurm says it has."""
        self.state = state
        self.looks_after_end = self.looks_after_end + 1 if state.is_over else 0

    @property
    def is_over(self) -> bool:
        """True at the second look: a job that Slurm starts again seems over for a moment."""
        return self.looks_after_end > 1


class SlurmPool:
    """The jobs of a store, as a session sees them.

    >>> pool = SlurmPool(store, SlurmSettings(gpus=1), device="auto", project=folder)
    """

    def __init__(
        self, store: Store, settings: SlurmSettings, *, device: str, project: Path
    ) -> None:
        self.device = device_for(device, settings)
        self.machine = None  # each node has its own
        self.trainers = settings.max_jobs
        self.remarks: Sequence[str] = ()
        self._settings = replace(settings, gpus=max(settings.gpus, int(self.device == "cuda")))
        self._store, self._project = store, project.absolute()
        self._queue = SlurmQueue(store, self._settings, project=self._project)
        self._jobs: list[_Job] = []
        self._numbers: set[int] = set()
        self._states: dict[str, JobState] | None = {}
        self._news, self._looked = time.monotonic(), float("-inf")

    @property
    def waits_for(self) -> str:
        if not self._jobs or time.monotonic() - self._news < SECONDS_UNTIL_SAID:
            return ""
        if self._states is None:
            return "Slurm, which does not answer"
        if any(job.state.name != "PENDING" for job in self._jobs):
            return ""
        reasons = ", ".join(sorted({job.state.reason for job in self._jobs}))
        return f"Slurm to start its jobs ({reasons})"

    def plan_lines(self, batches: int) -> Sequence[str]:
        return [
            f"{batches} batches would be submitted to Slurm, each job {self._settings.words}",
            f"at most {self.trainers} jobs at a time; their logs: {self._queue.folder}",
        ]

    def room(self) -> int:
        return self.trainers - len({job.id for job in self._jobs})

    def submit(self, batch: Batch) -> None:
        self._numbers.add(batch.number)
        self._look()
        new = set(batch.keys)
        for id_, state in (self._states or {}).items():
            if not state.is_over and (theirs := {key for key in new if state.has(key)}):
                self._jobs.append(_Job(id_, part_of(batch, theirs), is_ours=False))
                new -= theirs
        if new:
            self._send(part_of(batch, new))

    def events(self, seconds: float) -> Iterator[Event]:
        deadline = time.monotonic() + seconds
        while not (told := list(self._come())) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        if told:
            self._news = time.monotonic()
        yield from told

    def stop(self) -> Sequence[Event]:
        self._queue.cancel({job.id for job in self._jobs if job.is_ours})
        told = [event for job in self._jobs for event in self._stored(job)]
        self._jobs.clear()
        self._numbers.clear()
        return told

    def _send(self, part: Batch, attempt: int = 1) -> None:
        minutes, commit = self._settings.minutes, commit_of(self._project)
        work = BatchJob(self._store.root, part, self.device, minutes, commit)
        self._jobs.append(_Job(self._queue.submit(work), part, attempt))

    def _come(self) -> Iterator[Event]:
        """Yield what has come since the last time."""
        if self._jobs:
            self._look()
        for job in list(self._jobs):
            returned = self._queue.returned(job.id)  # by now its results are in the store
            yield from self._stored(job)
            for event in returned:
                if isinstance(event, Narrowed) or job.left.pop(event.run, ""):
                    yield event
            if job.left and not job.is_over:
                continue
            self._jobs.remove(job)
            yield from self._lost(job)
        for number in sorted(self._numbers - {job.batch.number for job in self._jobs}):
            self._numbers.discard(number)
            yield Ended(number)

    def _stored(self, job: _Job) -> Iterator[Event]:
        for run, key in list(job.left.items()):
            if self._store.measured(key) is not None:
                del job.left[run]
                yield Stored(run)

    def _lost(self, job: _Job) -> Iterator[Event]:
        """Try the runs again that ended with their job, one by one; or give them up."""
        is_cancelled = job.state.name == "CANCELLED"
        for run, key in job.left.items():
            if job.attempt < TRIES and not is_cancelled:
                self._send(part_of(job.batch, {key}), job.attempt + 1)
            else:
                why = f"its job {job.id} of Slurm ended as {job.state.name or 'over'}"
                said = f"{name_of(run)}, failed on the cluster: {why}"
                yield Failed(run, said, self._queue.end_of_log(job.id))

    def _look(self) -> None:
        """Ask Slurm for the states of the store's jobs, now and then."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        self._states = self._queue.states()
        if self._states is not None:
            for job in self._jobs:
                job.see(self._states.get(job.id, GONE))


def device_for(name: str, settings: SlurmSettings) -> str:
    """Return the device of jobs; raises ValueError where Slurm has none of that kind.

    >>> device_for("auto", SlurmSettings(gpus=1))
    'cuda'
    """
    if name == "auto":
        return "cuda" if settings.gpus else "cpu"
    if name not in ("cpu", "cuda"):
        raise ValueError(f"A Slurm cluster trains on cpu or cuda, not on {name}.")
    return name
