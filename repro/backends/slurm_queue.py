"""Slurm's queue: the jobs of a store go in by submitit, and their states come out."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from submitit import SlurmExecutor, SlurmJob
from submitit.core.utils import FailedJobError, FailedSubmissionError, UncompletedJobError

from repro.backends.node import code_paths
from repro.backends.places import Demand
from repro.backends.slurm_job import BatchJob
from repro.backends.slurm_settings import SlurmSettings
from repro.runs.pool import Batch, Failed, Narrowed, TrainingStopped
from repro.store import Store

TIME_LIMITS = 1000
"""Time limits that a job may come to, each time further than before."""

SIGNAL_SECONDS = 90
"""Seconds before its time limit at which a job is told to end; fewer where the limit is short."""

PATIENCE_SECONDS = 60
"""Seconds that one of Slurm's commands may take."""

LOG_LINES = 30
KEY_LETTERS = 16
"""Letters of a key in a job's comment, by which the next session knows its runs."""

ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
}
"""The states of jobs that are over, unless Slurm starts them again."""


class JobState(NamedTuple):
    """The state of a job in Slurm's words, the reason why it waits, and what it trains."""

    name: str
    reason: str = ""
    comment: str = ""

    @property
    def is_over(self) -> bool:
        """True for a job that has ended, or that Slurm has forgotten."""
        return self.name in ENDED or not self.name

    def has(self, key: str) -> bool:
        """Tell whether the job trains the run of a key."""
        return key[:KEY_LETTERS] in self.comment.split(",")


PENDING = JobState("PENDING")
"""The state of a job that was just submitted."""

GONE = JobState("")
"""The state of a job that Slurm knows nothing of any more."""


class SlurmQueue:
    """The jobs of one store, which all have the same name."""

    def __init__(self, store: Store, settings: SlurmSettings, *, project: Path) -> None:
        self.folder = (settings.folder or store.root / "slurm").absolute()
        self._settings, self._project = settings, project
        place = os.path.realpath(store.root)
        self._name = f"repro-{hashlib.sha256(place.encode()).hexdigest()[:16]}"

    def submit(self, work: BatchJob) -> str:
        """Submit a job; return its number with Slurm."""
        self.folder.mkdir(parents=True, exist_ok=True)
        executor = SlurmExecutor(self.folder, max_num_timeout=TIME_LIMITS, python=self._python())
        executor.update_parameters(**self._parameters(work.batch))
        try:
            return str(executor.submit(work).job_id)
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            why = " ".join(str(error).split()).removeprefix("sbatch: error: ").rstrip(".")
            raise TrainingStopped(f"Slurm did not take the jobs ({why})") from error

    def states(self) -> dict[str, JobState] | None:
        """Return the states of the store's jobs, whoever submitted them; None without an answer."""
        command = ["squeue", "--noheader", "--states=all", "--format=%i|%T|%k|%r"]
        try:
            said = _run([*command, f"--name={self._name}"], check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        found = (line.split("|", 3) for line in said.splitlines() if line.count("|") > 2)
        return {job: JobState(state, why, keys) for job, state, keys, why in found}

    def returned(self, job: str) -> Sequence[Failed | Narrowed]:
        """Return what a job said at its end; nothing before, or where it ended by an error."""
        known: SlurmJob[Sequence[Failed | Narrowed]] = SlurmJob(self.folder, job)
        if not known.paths.result_pickle.exists():
            return ()
        try:
            said = known.result()
        except (FailedJobError, UncompletedJobError):
            return ()
        return said

    def cancel(self, jobs: Iterable[str]) -> None:
        """Cancel jobs."""
        if jobs := sorted(jobs):
            _run(["scancel", *jobs], check=False)  # it complains of those that have ended

    def end_of_log(self, job: str) -> str:
        """Return the last lines that a job wrote; or that there are none."""
        path = SlurmJob(self.folder, job).paths.stdout
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            return f"It left no log at {path}; that has to be on a disk that all nodes share."
        return "\n".join([f"The end of its log, {path}:", *lines[-LOG_LINES:]])

    def _python(self) -> str:
        """Return Python as a command of the shell, which finds the project's modules first."""
        places = [str(self._project / place) for place in code_paths(self._project)]
        path = os.pathsep.join([*places, *filter(None, [os.environ.get("PYTHONPATH")])])
        given = [f"PYTHONPATH={path}", "OMP_NUM_THREADS=1"]
        return shlex.join(["env", f"--chdir={self._project}", *given, sys.executable])

    def _parameters(self, batch: Batch) -> dict[str, object]:
        wishes, demand = self._settings, Demand.of(batch.arm)
        cores = demand.cores("cuda" if wishes.gpus else "cpu")
        parameters: dict[str, object] = {
            "job_name": self._name,
            "comment": ",".join(key[:KEY_LETTERS] for key in batch.keys),
            "time": wishes.minutes,
            "nodes": 1,
            "ntasks_per_node": 1,
            "cpus_per_task": cores,
            "srun_args": [f"--cpus-per-task={cores}"],  # which srun does not take over
            "signal_delay_s": min(SIGNAL_SECONDS, 15 * wishes.minutes),
            "stderr_to_stdout": True,
            "additional_parameters": {"requeue": True},
            "partition": wishes.partition,
            "account": wishes.account,
        }
        if wishes.memory is not None:
            parameters["mem"] = f"{max(1, round(wishes.memory * 1024))}M"
        if wishes.gpus:
            parameters["gpus_per_node"] = max(wishes.gpus, demand.devices)
        return {name: value for name, value in parameters.items() if value is not None}


def _run(command: Sequence[str], *, check: bool) -> str:
    seconds = PATIENCE_SECONDS
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=check)
    return done.stdout
