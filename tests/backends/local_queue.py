"""Queues without a cluster, in the place of Slurm's: in this process, or by submitit's executor."""

import signal
from contextlib import suppress
from typing import ClassVar

from submitit import LocalExecutor

from repro.backends.slurm.queue import JobState, command_in, end_of_log

STATES = {"RUNNING": "RUNNING", "FINISHED": "COMPLETED", "INTERRUPTED": "FAILED"}


class HereAndNow:
    """Jobs that are over when they have been submitted."""

    def __init__(self, logs, name, settings):
        self.count = 0

    def submit(self, jobs, *, demand, folder, environment):
        for job in jobs:
            job()
        self.count += len(jobs)
        return [str(n) for n in range(self.count - len(jobs), self.count)]

    def states(self, ids):
        return dict.fromkeys(ids, JobState("COMPLETED", ""))

    def cancel(self):
        pass

    def end_of_log(self, slurm_id):
        return ""


class LocalQueue:
    """The jobs of one session as processes of this machine."""

    processes: ClassVar[list] = []
    """Every process that was started, to be waited for."""

    def __init__(self, logs, name, settings):
        self.logs, self.settings, self.jobs = logs, settings, {}

    def submit(self, jobs, *, demand, folder, environment):
        executor = LocalExecutor(self.logs, python=command_in(folder, environment))
        executor.update_parameters(timeout_min=self.settings.minutes, stderr_to_stdout=True)
        submitted = {job.job_id: job for job in executor.submit_array(jobs)}
        self.jobs |= submitted
        self.processes.extend(job._process for job in submitted.values())
        return list(submitted)

    def states(self, ids):
        return {each: JobState(STATES[self.jobs[each].get_info()["jobState"]], "") for each in ids}

    def cancel(self):
        for job in self.jobs.values():
            with suppress(OSError):
                job._process.send_signal(signal.SIGINT)
            job._process.wait(240)

    def end_of_log(self, slurm_id):
        return end_of_log(self.logs, slurm_id)
