"""The loop of work over a backend that is made up: jobs go out, events come back."""

from pathlib import Path

import pytest

from repro.arm import Run
from repro.core.progress import Progress
from repro.core.speed import Speed
from repro.runs.events import Advanced, Ended, Timed, Trained
from repro.runs.jobs import Timing
from repro.runs.plan import Plan, RunsMissing
from repro.runs.work import Work
from repro.store import Store
from tests.runs.test_runs_results import Any

RUNS = [Run(Any(), seed) for seed in range(3)]


class MadeUp:
    """A third backend: it trains nothing, and returns the seed."""

    device, machine, slots, remarks, waits_for = "cpu", "none", 2, ("a remark",), ""

    def __init__(self):
        self.jobs, self.stopped = [], False

    def room(self):
        return 2 - len(self.jobs)

    def start(self, job, tell):
        self.jobs.append(job)

    def events(self):
        for job in self.jobs:
            if isinstance(job, Timing):
                yield Timed(job.number, Speed("loop", 1, 0.5))
            else:
                yield Advanced(job.number, Progress(len(job.runs), 5, 10))
        for job in self.jobs:
            for run in () if isinstance(job, Timing) else job.runs:
                yield self.end(run)
            yield Ended(job.number)
        self.jobs = []

    def end(self, run):
        return Trained(run, {"measures": {"seed": run.seed}}, {"seconds": 1.0})

    def stop(self):
        self.stopped = True
        return ()


def work_of(folder, backend, **options):
    project = Path(__file__).parent
    return Work(Store(folder), backend, engine="auto", project=project, **options)


def train(work, runs=RUNS):
    statuses = []

    def read():
        if missing := [run for run in runs if not work.results.is_settled(run)]:
            raise RunsMissing(missing)

    plan = Plan([read], is_settled=work.results.is_settled, asked=set(runs))
    work.train(plan, statuses.append)
    return statuses


def test_everything_that_is_missing_is_trained_once_and_stored(tmp_path):
    backend = MadeUp()
    work = work_of(tmp_path, backend)
    statuses = train(work)
    assert [work.results.get(run).values["measures"]["seed"] for run in RUNS] == [0, 1, 2]
    assert work.trained == 3
    assert backend.stopped
    assert (statuses[0].asked, statuses[0].missing, statuses[0].slots) == (3, 3, 2)
    assert max(s.training.runs for s in statuses if s.training) == 2  # side by side
    made = work.results.get(RUNS[0]).provenance
    assert {"seconds", "commit", "uncommitted_changes"} <= set(made)
    again = work_of(tmp_path, MadeUp())
    assert not train(again)
    assert again.trained == 0


def test_what_was_under_way_when_it_stopped_is_free_for_others(tmp_path):
    class Interrupted(MadeUp):
        def events(self):
            if any(not isinstance(job, Timing) for job in self.jobs):
                raise KeyboardInterrupt
            yield from super().events()

        def stop(self):
            return [Trained(RUNS[0], {"measures": {"seed": 0}}, {})]  # came in at the last moment

    work = work_of(tmp_path, Interrupted())
    with pytest.raises(KeyboardInterrupt):
        train(work)
    assert work.results.get(RUNS[0]) is not None
    free = work.store.locks.try_lock(work.results.key(RUNS[1]))
    assert free is not None
    free.release()
    others = work_of(tmp_path, MadeUp())
    train(others)
    assert others.trained == 2
