"""A queue without a cluster: submitit's local executor, in the place of Slurm."""

import signal
from contextlib import suppress
from typing import ClassVar

from submitit import LocalExecutor

from repro.backends.slurm.queue import GONE, JobState, command_in, end_of_log

STATES = {"RUNNING": "RUNNING", "FINISHED": "COMPLETED", "INTERRUPTED": "FAILED"}


class LocalQueue:
    """The jobs of one session as processes of this machine."""

    all: ClassVar[dict] = {}
    """Every job that was started, by whichever session."""

    asked: ClassVar[list] = []
    """What each submission asked for."""

    def __init__(self, logs, name, settings):
        self.logs, self.settings, self.jobs = logs, settings, {}

    def submit(self, jobs, *, demand, folder, environment):
        self.asked.append({"jobs": len(jobs), "demand": demand})
        executor = LocalExecutor(self.logs, python=command_in(folder, environment))
        executor.update_parameters(timeout_min=self.settings.minutes, stderr_to_stdout=True)
        submitted = {job.job_id: job for job in executor.submit_array(jobs)}
        self.jobs |= submitted
        self.all.update(submitted)
        return list(submitted)

    def states(self, ids):
        found = {each: self.all.get(each) for each in ids}
        return {
            each: GONE if job is None else JobState(STATES[job.get_info()["jobState"]], "")
            for each, job in found.items()
        }

    def cancel(self):
        self.end(self.jobs)

    @classmethod
    def end(cls, jobs):
        """End jobs with all they have started, and wait for that."""
        for job in jobs.values():
            with suppress(OSError):
                job._process.send_signal(signal.SIGINT)
        for job in jobs.values():
            job._process.wait(240)

    def end_of_log(self, slurm_id):
        return end_of_log(self.logs, slurm_id)
