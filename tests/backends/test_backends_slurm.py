"""The backend for Slurm, with this machine in the place of a cluster."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from repro.arm import Run
from repro.backends.choose import backend_named, require_backend
from repro.backends.devices import Demand
from repro.backends.slurm.settings import SlurmSettings
from repro.core.speed import Speed
from repro.runs import identity
from repro.runs.backend import TrainingStopped
from repro.runs.jobs import Batch
from repro.runs.work import Work
from repro.store import Store
from repro.studies.depth_ladder.arms import D256_L4
from tests.local_work import LocalWork, Trains

pytest.importorskip("submitit", reason="not installed: submitit")

from local_queue import HereAndNow, LocalQueue

from repro.backends.slurm import backend as slurm_backend
from repro.backends.slurm import node
from repro.backends.slurm.backend import SlurmBackend, device_for
from repro.backends.slurm.node import NodeJob
from repro.backends.slurm.queue import JobState, SlurmQueue
from repro.backends.slurm.snapshot import PROJECT, snapshot

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


RUNS = [Run(D256_L4.at("ci"), seed) for seed in (1, 2)]


def batch():
    keys = [str(run.seed) * 64 for run in RUNS]
    return Batch(1, RUNS, keys, Speed("loop", 1, 0.01), None, ExitStack())


SBATCH = """#!/bin/sh
cp "$1" {folder}/script
{then}
"""


@pytest.fixture
def sbatch(tmp_path, monkeypatch):
    """A command that keeps what it is given; `then` is what it does next."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def make(then):
        for name in ("sbatch", "srun"):
            path = tmp_path / "bin" / name
            path.write_text(SBATCH.format(folder=tmp_path, then=then))
            path.chmod(0o755)

    return make


TWO_THREADS = Demand(threads=2)


def submit(tmp_path, jobs, settings, *, demand=TWO_THREADS):
    queue = SlurmQueue(tmp_path / "logs", "repro-test", settings)
    left = [NodeJob(tmp_path, (str(n),), minutes=30) for n in range(jobs)]
    return queue.submit(left, demand=demand, folder=tmp_path, environment={"MARK": "a b"})


def test_wishes_are_handed_to_sbatch(tmp_path, sbatch):
    sbatch("echo Submitted batch job 77")
    settings = SlurmSettings(partition="gpu", account="lab", minutes=30, memory=1.5, gpus=2)
    assert submit(tmp_path, 3, settings) == ["77_0", "77_1", "77_2"]
    script = (tmp_path / "script").read_text()
    for line in (
        *("--partition=gpu", "--account=lab", "--time=30", "--mem=1536M", "--gpus-per-node=2"),
        *("--array=0-2%3", "--cpus-per-task=2", "--requeue", "--signal=USR2@90"),
    ):
        assert f"#SBATCH {line}\n" in script, script
    assert f"env --chdir={tmp_path} 'MARK=a b' {sys.executable} -u -m submitit" in script


def test_a_job_is_given_the_devices_that_its_runs_ask_for(tmp_path, sbatch):
    sbatch("echo Submitted batch job 79")
    demand = Demand(devices=3, threads=2)
    for gpus, lines in (
        (0, ["--cpus-per-task=3"]),
        (1, ["--cpus-per-task=2", "--gpus-per-node=3"]),
    ):
        submit(tmp_path, 1, SlurmSettings(gpus=gpus), demand=demand)
        script = (tmp_path / "script").read_text()
        assert [line for line in lines if f"#SBATCH {line}\n" not in script] == []


def test_what_sbatch_refuses_is_one_sentence(tmp_path, sbatch):
    sbatch("echo 'sbatch: error: Invalid account' >&2; exit 1")
    with pytest.raises(TrainingStopped, match=r"^Slurm did not take the jobs \(Invalid account\)$"):
        submit(tmp_path, 1, SlurmSettings())


def test_the_snapshot_has_the_code_that_git_would_add_by_what_is_in_it(tmp_path):
    code, into = tmp_path / "code", tmp_path / "into"
    for place in ("a.py", "below/b.py", "__pycache__/a.pyc", "env/pyvenv.cfg", "runs/c.txt"):
        (code / place).parent.mkdir(parents=True, exist_ok=True)
        (code / place).write_text("1")
    subprocess.run(["git", "init", "-q"], cwd=code, check=True)
    (code / ".gitignore").write_text("runs/\n")
    first = snapshot(code, tmp_path / "store", into)
    found = {str(p.relative_to(first)) for p in (first / PROJECT).rglob("*") if p.is_file()}
    assert found == {"project/.gitignore", "project/a.py", "project/below/b.py"}
    assert (first / "library" / "repro" / "arm.py").is_file()
    assert any((first / "library" / "repro" / "_fixtures").iterdir())
    assert snapshot(code, tmp_path / "store", into) == first
    (code / "a.py").write_text("2")
    assert snapshot(code, tmp_path / "store", into) != first
    assert (first / PROJECT / "a.py").read_text() == "1"


def test_the_device_is_what_jobs_are_given():
    asked = [("auto", 0), ("auto", 2), ("cpu", 1), ("cuda", 0)]
    found = [device_for(name, SlurmSettings(gpus=gpus)) for name, gpus in asked]
    assert found == ["cpu", "cuda", "cpu", "cuda"]


def backend(tmp_path, **settings):
    return SlurmBackend(
        Store(tmp_path / "store"),
        SlurmSettings(**settings),
        device="cpu",
        processes=1,
        project=tmp_path,
    )


def test_the_plan_says_what_would_be_submitted_and_leaves_nothing(tmp_path):
    lines = backend(tmp_path, partition="gpu", gpus=1, max_jobs=7).plan_lines(timings=2, batches=5)
    said = "\n".join(lines)
    for part in ("5 batches", "partition gpu, 60 min, 1 GPU", "2 programs", "at most 7 jobs"):
        assert part in said
    assert not (tmp_path / "store" / "slurm").exists()


class Stubborn:
    """A queue whose jobs never start, or that does not even answer."""

    reason = None

    def submit(self, jobs, **_):
        return [str(n) for n, _ in enumerate(jobs)]

    def states(self, ids):
        return self.reason and {each: JobState("PENDING", self.reason) for each in ids}

    def cancel(self):
        pass


def test_a_long_wait_is_told_with_the_schedulers_reason(tmp_path, monkeypatch):
    for name in ("LEAST_SECONDS", "MOST_SECONDS", "POLL_SECONDS"):
        monkeypatch.setattr(f"repro.backends.slurm.backend.{name}", 0.0)
    waits = backend(tmp_path)
    waits._queue = waits._sender._queue = queue = Stubborn()
    waits.start(batch(), lambda event: None)
    assert list(waits.events()) == []
    assert waits.waits_for == ""
    waits._news -= 60
    assert list(waits.events()) == []
    assert waits.waits_for == "Slurm, which does not answer"
    queue.reason = "PartitionDown"
    assert list(waits.events()) == []
    assert waits.waits_for == "Slurm to start 1 job: 1 pending (PartitionDown)"
    assert waits.room() == 99
    assert waits.stop() == []


def test_what_no_job_can_be_given_is_said():
    for wrong in ({"max_jobs": 0}, {"minutes": 0}, {"gpus": -1}):
        with pytest.raises(ValueError, match="is too small; give at least"):
            SlurmSettings(**wrong).require_sound()
    with pytest.raises(ValueError, match="--slurm-memory -1 is no memory; give gigabytes"):
        SlurmSettings(memory=-1).require_sound()


def test_an_executor_that_cannot_be_used_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    for name, address, sentence in (
        ("slurm", "", "Slurm's commands, and there is no sbatch here; run it where"),
        ("condor", "", "There is no executor 'condor'; choose local, slurm, ray"),
        ("ray", "", "set RAY_ADDRESS to HOST:PORT"),
        ("ray://nowhere", "", "is no address of a Ray cluster"),
        ("ray", "127.0.0.1:9", "Nobody answers at 127.0.0.1:9"),
    ):
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(ValueError, match=sentence):
            require_backend(name)
    for library, name in (("submitit", "slurm"), ("ray", "ray://127.0.0.1:9")):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ValueError, match=r"pip install 'repro-claims\[(slurm|ray)\]'"):
            require_backend(name)


def test_bits_of_one_machine_cannot_be_asked_of_slurm(sbatch, tmp_path):
    sbatch("exit 1")
    for name in ("squeue", "scancel"):
        (tmp_path / "bin" / name).symlink_to(tmp_path / "bin" / "sbatch")
    at = {"device": "cpu", "processes": 1, "project": tmp_path, "same_machine": True}
    with pytest.raises(ValueError, match="--same-machine cannot be kept with --executor slurm"):
        backend_named("slurm", Store(tmp_path / "store"), **at)
