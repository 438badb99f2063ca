"""The backend for Slurm, with processes of this machine in the place of a cluster."""

import sys
import time
from pathlib import Path

import pytest

from repro.arm import Run
from repro.backends.devices import Demand
from repro.backends.slurm.settings import SlurmSettings
from repro.runs.backend import TrainingStopped
from repro.runs.work import Work
from repro.store import Store
from tests.local_work import LocalWork, Trains

pytest.importorskip("submitit", reason="not installed: submitit")

from local_queue import LocalQueue

from repro.backends.slurm import backend as slurm_backend

pytestmark = pytest.mark.thorough

STUDY = '''
"""Runs that leave a mark, wait while a file is there, and may kill their process."""
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy


@dataclass(frozen=True, kw_only=True)
class Tiny(OutsideArm):
    study: ClassVar[str] = "tiny"
    metrics: ClassVar[dict] = {"seed": Metric("identity")}
    kills: int = 0
    data: str = "none"


def train(arm, seed):
    marks = Path(os.environ["MARKS"])
    with (marks / str(seed)).open("a") as file:
        file.write(".")
    while (marks / "slow").exists():
        time.sleep(0.05)
    if (marks / str(seed)).stat().st_size <= arm.kills:
        os.write(2, b"about to end ")
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed": seed}


STUDY = OutsideStudy(train)
'''


class OnSlurm(Trains):
    """Work over a store whose batches go to a queue; each is one process of a session."""

    def __init__(self, store, project, **settings):
        self.store = Store(store)
        self.backend = slurm_backend.SlurmBackend(
            self.store, SlurmSettings(**settings), device="cpu", processes=1, project=project
        )
        self.work = Work(self.store, self.backend, engine="auto", project=project)
        self.results = self.work.results

    def left_over(self):
        folder = self.store.root / "slurm"
        return [p.name for place in ("sent", "batches") for p in (folder / place).iterdir()]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "tiny.py").write_text(STUDY)
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("MARKS", str(tmp_path / "marks"))
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "marks"))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "tiny", raising=False)
    monkeypatch.setattr(slurm_backend, "SlurmQueue", LocalQueue)
    monkeypatch.setattr(slurm_backend, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(slurm_backend, "LEAST_SECONDS", 0.2)
    monkeypatch.setattr(slurm_backend, "MOST_SECONDS", 0.2)
    monkeypatch.setattr(slurm_backend, "QUIET_SECONDS", 1.5)
    LocalQueue.asked.clear()
    yield folder
    LocalQueue.end(LocalQueue.all)
    LocalQueue.all.clear()
    sys.modules.pop("tiny", None)


@pytest.fixture
def runs(project):
    from tiny import Tiny

    return [Run(Tiny(), seed) for seed in range(1, 4)]


def marks(project):
    return {p.name: p.stat().st_size for p in project.with_name("marks").glob("[0-9]*")}


def test_results_come_back_under_the_keys_of_this_machine(project, runs, tmp_path):
    done = OnSlurm(tmp_path / "far", project).train(runs)
    assert done.work.trained == 3
    here = LocalWork(tmp_path / "here").train(runs)
    for run in runs:
        assert done.results.key(run) == here.results.key(run)
        assert done.results.get(run).values == here.values(run)
    assert done.left_over() == []
    assert list((done.store.root / "slurm" / "results" / "runs").glob("*/*")) == []
    assert LocalQueue.asked == [{"jobs": 3, "demand": Demand()}]


def test_a_session_that_leaves_is_followed_by_one_that_collects(project, runs, tmp_path):
    slow = tmp_path / "marks" / "slow"
    slow.touch()
    with pytest.raises(TrainingStopped, match="Left with Slurm: 3 jobs: 3 running; the same"):
        OnSlurm(tmp_path / "store", project, detach=True).train(runs)
    slow.unlink()
    done = OnSlurm(tmp_path / "store", project).train(runs)
    assert done.work.trained == 3
    assert marks(project) == {"1": 1, "2": 1, "3": 1}
    assert done.left_over() == []


def test_a_job_that_kills_its_process_is_tried_again_alone_and_given_up(project, tmp_path):
    from tiny import Tiny

    once, twice = Run(Tiny(kills=1), 1), Run(Tiny(kills=2), 2)
    done = OnSlurm(tmp_path / "store", project).train([once, twice])
    assert done.results.get(once).values["measures"] == {"seed": 1}
    assert marks(project) == {"1": 2, "2": 2}
    why = done.results.failed(twice)
    assert why.startswith("tiny kills 2, seed 2, failed on the cluster: its job ")
    assert "(a crash in native code, os._exit, or killed for memory?)" in why
    assert "about to end" in done.results.details[twice]
    assert done.left_over() == []


def test_a_session_that_is_stopped_cancels_its_jobs_and_forgets_them(project, runs, tmp_path):
    (tmp_path / "marks" / "slow").touch()
    session = OnSlurm(tmp_path / "store", project)

    def stop(status):
        if len(marks(project)) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.train(runs, stop)
    assert session.left_over() == []
    assert all(job._process.poll() is not None for job in LocalQueue.all.values())
    (tmp_path / "marks" / "slow").unlink()
    assert OnSlurm(tmp_path / "store", project).train(runs).work.trained == 3


def test_what_came_back_before_a_stop_is_stored(project, runs, tmp_path):
    session = OnSlurm(tmp_path / "store", project)
    jobs = []

    def stop(status):
        jobs.extend(LocalQueue.all.values())
        if jobs:
            deadline = time.monotonic() + 240
            while any(job._process.poll() is None for job in jobs) and time.monotonic() < deadline:
                time.sleep(0.1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.train(runs, stop)
    assert session.work.trained == 3


def test_runs_that_start_from_another_find_its_parameters(project, tmp_path):
    from test_backends_starts import BASE, TUNED

    root = Path(__file__).parents[2]
    done = OnSlurm(tmp_path / "store", root).train([*TUNED, BASE])
    assert done.work.trained == 4
    ended = done.results.get(BASE).values["measures"]["sum"]
    for run in TUNED:
        started = done.results.get(run).values["measures"]["started"]
        assert started == pytest.approx(ended, rel=1e-6)
