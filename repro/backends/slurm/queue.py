"""Slurm's queue, as a session sees it: jobs go in through submitit, and states come out."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from submitit import SlurmExecutor
from submitit.core.utils import FailedJobError, FailedSubmissionError, JobPaths

from repro.backends.devices import Demand
from repro.backends.slurm.node import NodeJob
from repro.backends.slurm.settings import SlurmSettings
from repro.runs.backend import TrainingStopped

ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
}
"""The states of jobs that are over, unless Slurm starts them again."""

TIMEOUTS = 1000
"""Time limits that a job may come to, each time further than before."""

SIGNAL_SECONDS = 90
"""Seconds before its time limit at which a job is told to end; fewer where the limit is short."""

LOG_LINES = 30
PATIENCE_SECONDS = 60
"""Seconds that one of Slurm's commands may take."""


class JobState(NamedTuple):
    """The state of a job in Slurm's words, and the reason why it waits."""

    name: str
    reason: str


PENDING = JobState("PENDING", "")
"""The state of a job that was just submitted."""

GONE = JobState("", "")
"""The state of a job that Slurm knows nothing of any more."""


class SlurmQueue:
    """The jobs of one session: they have a name of their own."""

    def __init__(self, logs: Path, name: str, settings: SlurmSettings) -> None:
        self._logs, self._name, self._settings = logs, name, settings

    def submit(
        self,
        jobs: Sequence[NodeJob],
        *,
        demand: Demand,
        folder: Path,
        environment: Mapping[str, str],
    ) -> list[str]:
        """Submit jobs, several of them as an array; return their names with Slurm."""
        executor = SlurmExecutor(
            self._logs,
            max_num_timeout=TIMEOUTS,
            python=command_in(folder, environment),
        )
        executor.update_parameters(**self._parameters(demand, len(jobs)))
        try:
            return [job.job_id for job in executor.submit_array(jobs)]
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            why = " ".join(str(error).split()).removeprefix("sbatch: error: ").rstrip(".")
            raise TrainingStopped(f"Slurm did not take the jobs ({why})") from error

    def states(self, ids: Iterable[str]) -> dict[str, JobState] | None:
        """Return the states of jobs; None where Slurm does not answer."""
        wanted = set(ids)
        arrays = ",".join(sorted({each.partition("_")[0] for each in wanted}))
        command = ["squeue", "--noheader", "--array", "--states=all", "--format=%i|%T|%r"]
        try:
            done = subprocess.run(
                [*command, f"--jobs={arrays}"],
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode and "Invalid job id" not in done.stderr:
            return None
        lines = (line.split("|", 2) for line in done.stdout.splitlines() if line.count("|") > 1)
        known = {name.strip(): JobState(state.strip(), why.strip()) for name, state, why in lines}
        return {each: known.get(each, GONE) for each in wanted}

    def cancel(self) -> None:
        """Cancel all jobs of this session."""
        subprocess.run(
            ["scancel", f"--user={os.getuid()}", f"--name={self._name}"],
            capture_output=True,
            timeout=PATIENCE_SECONDS,
        )

    def end_of_log(self, slurm_id: str) -> str:
        """Return the last lines that a job wrote; or that there are none."""
        return end_of_log(self._logs, slurm_id)

    def _parameters(self, demand: Demand, jobs: int) -> dict[str, object]:
        wishes = self._settings
        cores = demand.cores("cuda" if wishes.gpus else "cpu")
        parameters: dict[str, object] = {
            "job_name": self._name,
            "time": wishes.minutes,
            "nodes": 1,
            "ntasks_per_node": 1,
            "cpus_per_task": cores,
            "srun_args": [f"--cpus-per-task={cores}"],  # which srun does not take over
            "signal_delay_s": min(SIGNAL_SECONDS, 15 * wishes.minutes),
            "array_parallelism": jobs,
            "stderr_to_stdout": True,
            "additional_parameters": {"requeue": True},
        }
        if wishes.partition:
            parameters["partition"] = wishes.partition
        if wishes.account:
            parameters["account"] = wishes.account
        if wishes.memory is not None:
            parameters["mem"] = f"{max(1, round(wishes.memory * 1024))}M"
        if wishes.gpus:
            parameters["gpus_per_node"] = max(wishes.gpus, demand.devices)
        return parameters


def command_in(folder: Path, environment: Mapping[str, str]) -> str:
    """Return Python as a command of the shell: in a folder, with this in its environment.

    Python looks for modules in its own folder first, so that is the snapshot's.
    """
    given = [f"{name}={value}" for name, value in environment.items()]
    return shlex.join(["env", f"--chdir={folder}", *given, sys.executable])


def end_of_log(logs: Path, slurm_id: str) -> str:
    """Return the last lines of a job's log; or that it has left none."""
    path = JobPaths(logs, job_id=slurm_id).stdout
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return f"It left no log at {path}; that folder has to be on a disk that all nodes share."
    return "\n".join([f"The end of its log, {path}:", *lines[-LOG_LINES:]])
