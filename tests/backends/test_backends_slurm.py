"""The backend for Slurm, with this machine in the place of a cluster."""

import sys

import pytest

from repro.arm import Run
from repro.backends.slurm.settings import SlurmSettings
from repro.core.speed import Speed
from repro.runs import identity
from repro.runs.work import Work
from repro.store import Store
from tests.local_work import LocalWork, Trains

pytest.importorskip("submitit", reason="not installed: submitit")

from local_queue import HereAndNow, LocalQueue

from repro.backends.slurm import backend as slurm_backend
from repro.backends.slurm import node

STUDY = '''
"""Runs that leave a mark, and may kill their process."""
import os
import signal
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
    mark = Path(os.environ["MARKS"]) / str(seed)
    with mark.open("a") as file:
        file.write(".")
    if arm.kills < 0:
        raise ZeroDivisionError("no seed today")
    if mark.stat().st_size <= arm.kills:
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


CODE = identity._code


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
    monkeypatch.setattr(slurm_backend, "SlurmQueue", HereAndNow)
    monkeypatch.setattr(slurm_backend, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(slurm_backend, "LEAST_SECONDS", 0.05)
    monkeypatch.setattr(slurm_backend, "MOST_SECONDS", 0.05)
    yield folder
    sys.modules.pop("tiny", None)


def tiny(seeds, **settings):
    from tiny import Tiny

    return [Run(Tiny(**settings), seed) for seed in seeds]


def marks(project):
    return {p.name: p.stat().st_size for p in project.with_name("marks").glob("[0-9]*")}


def test_results_come_back_under_the_keys_of_this_machine(project, tmp_path):
    runs = tiny([1, 2, 3])
    done = OnSlurm(tmp_path / "far", project).train(runs)
    assert done.work.trained == 3
    here = LocalWork(tmp_path / "here").train(runs)
    for run in runs:
        assert done.results.key(run) == here.results.key(run)
        assert done.results.get(run).values == here.values(run)
    assert done.left_over() == []


def test_what_cannot_be_trained_there_fails_with_the_reason(project, tmp_path, monkeypatch):
    (broken,), (other,) = tiny([1], kills=-1), tiny([2])
    done = OnSlurm(tmp_path / "store", project).train([broken])
    assert "failed to train: ZeroDivisionError: no seed today" in done.results.failed(broken)
    assert 'raise ZeroDivisionError("no seed today")' in done.results.details[broken]
    identity_here = node.identity_here

    def with_other_data(run, **options):
        return {**identity_here(run, **options), "data": "another"}

    monkeypatch.setattr(node, "identity_here", with_other_data)
    done = OnSlurm(tmp_path / "store", project).train([other])
    assert "would be stored under another key by the node" in done.results.failed(other)
    assert marks(project) == {"1": 1}
    assert done.left_over() == []


def test_a_session_that_is_stopped_stores_what_came_and_lets_go_of_the_rest(project, tmp_path):
    runs = tiny([1, 2, 3])
    session = OnSlurm(tmp_path / "store", project, max_jobs=2)

    def stop(status):
        if marks(project):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.train(runs, stop)
    stored = [session.results.get(run) is not None for run in runs]
    assert sum(stored) == len(marks(project)) == 2
    assert session.left_over() == []
    assert OnSlurm(tmp_path / "store", project).train(runs).work.trained == 1


def test_runs_that_start_from_another_find_its_parameters(project, tmp_path):
    from test_backends_starts import BASE, TUNED

    done = OnSlurm(tmp_path / "store", project)
    for run in (BASE, TUNED[0]):
        done.work.engines.settle(run.arm, Speed("loop", 1, 0.5))
    done.train([*TUNED, BASE])
    assert done.work.trained == 4
    ended = done.results.get(BASE).values["measures"]["sum"]
    for run in TUNED:
        started = done.results.get(run).values["measures"]["started"]
        assert started == pytest.approx(ended, rel=1e-6)


@pytest.mark.thorough
def test_a_job_that_kills_its_process_is_tried_again_and_given_up(project, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm_backend, "SlurmQueue", LocalQueue)
    monkeypatch.setattr(identity, "_code", CODE)
    (once,), (twice,) = tiny([1], kills=1), tiny([2], kills=2)
    done = OnSlurm(tmp_path / "store", project).train([once, twice])
    assert done.results.get(once).values["measures"] == {"seed": 1}
    assert marks(project) == {"1": 2, "2": 2}
    why = done.results.failed(twice)
    assert why.startswith("tiny kills 2, seed 2, failed on the cluster: its job ")
    assert "killed for memory?" in why
    assert "about to end" in done.results.details[twice]
    assert done.left_over() == []
    for process in LocalQueue.processes:
        process.wait(60)
