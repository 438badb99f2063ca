"""Slurm as a pool: a real one with two nodes, and what can be shown without one."""

import os
import sys
from unittest import mock

import pytest
from cluster_lines import LONG, Project, Session, entries, train_200_runs_and_lose_a_node
from slurm_cluster import Slurm, lacking

from repro.arm import Run
from repro.backends.cluster import SlurmSettings, device_of_nodes, require_executor
from repro.backends.trainer import train_here
from repro.runs.pool import Batch, Ended, Failed, TrainingStopped
from repro.store import Store
from repro.studies.depth_ladder.arms import D256_L4
from tests.backends.behaving import Behaving

pytest.importorskip("submitit", reason="not installed: submitit")

from repro.backends import slurm
from repro.backends.slurm import KEY_LETTERS, BatchJob, JobState, SlurmPool, SlurmQueue


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one core each, started once for all tests."""
    if lacking():
        pytest.skip(f"no Slurm can be started: {lacking()}")
    cluster = Slurm()
    try:
        cluster.__enter__()
    except RuntimeError as error:  # a container may let no daemon work: CI says it, with their logs
        pytest.skip(str(error))
    yield cluster
    cluster.__exit__()


@pytest.fixture(scope="module")
def entered(cluster, tmp_path_factory):
    with Project(tmp_path_factory.mktemp("lines")).entered(cluster.environment()) as project:
        yield project


@pytest.fixture
def project(entered, cluster, monkeypatch):
    """The project as no test has changed it, and two nodes that do nothing."""
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 1.0)
    cluster.revive()
    entered.clean()
    return entered


def pool(project, store, **settings):
    return SlurmPool(store, SlurmSettings(**settings), device="cpu", project=project.folder)


@pytest.mark.slurm
def test_200_runs_over_two_nodes_one_of_which_is_lost_have_the_bytes_of_this_machine(
    cluster, project, tmp_path
):
    train_200_runs_and_lose_a_node(cluster, project, tmp_path, lambda s: pool(project, s))


@pytest.mark.slurm
def test_a_job_outlives_its_session_and_its_time_limit(cluster, project, tmp_path):
    """Told to end as where its time limit nears, it goes on from its checkpoint."""
    (batch,) = project.batches([1], epochs=LONG)
    store = Store(tmp_path / "store")
    killed = Session(store, pool(project, store), [batch])
    with project.slowly():
        killed.until(lambda: all(map(store.checkpoints.load, batch.keys.values())))
        (job,) = cluster.jobs()
        cluster.run("scancel", "--signal=USR2", job)
        killed.until(lambda: not cluster.jobs())
        lost = sum(project.steps())
    session = Session(store, pool(project, store), [batch]).finish()
    assert session.done == set(batch.runs)
    assert cluster.queue().keys() <= {job}
    assert lost < sum(project.steps()) < lost + 10 * LONG


@pytest.mark.slurm
def test_what_cannot_be_trained_there_fails_with_the_reason(cluster, project, tmp_path):
    from line import BREAKS, DIES, ELSEWHERE

    store = Store(tmp_path / "store")
    batches = project.batches([1], targets=(BREAKS, ELSEWHERE, DIES))
    session = Session(store, pool(project, store), batches).finish()
    failed = {run.arm.target: event for run, event in session.failed.items()}
    assert "failed to train: ZeroDivisionError: no slope today" in failed[BREAKS].why
    assert "would be stored under another key by the node" in failed[ELSEWHERE].why
    assert "failed on the cluster: its job" in failed[DIES].why
    assert "ended as FAILED" in failed[DIES].why
    assert "about to end" in failed[DIES].details
    assert project.steps(DIES) == [1, 1]
    assert entries(store) == {}


@pytest.mark.slurm
def test_a_session_that_stops_cancels_its_jobs(cluster, project, tmp_path):
    store = Store(tmp_path / "store")
    session = Session(store, pool(project, store), project.batches([1, 2, 3], epochs=LONG))
    with project.slowly():
        session.until(lambda: len(cluster.jobs()) == 2)
        session.pool.stop()
        session.until(lambda: not cluster.jobs())
    assert not any("PENDING" in said for said in cluster.queue().values())


# --- Without a Slurm.

RUNS = [Run(D256_L4.at("ci"), seed) for seed in (1, 2)]
BATCH = Batch(1, {run: {"seed": run.seed} for run in RUNS}, "loop")
KEYS = list(BATCH.keys.values())


class Queue:
    """A queue whose jobs do what a test says."""

    folder = "/logs"

    def __init__(self):
        self.jobs, self.answers, self.said, self.cancelled = {}, True, {}, []

    def submit(self, batch, device):
        name = str(len(self.jobs) + 1)
        comment = ",".join(key[:KEY_LETTERS] for key in batch.keys.values())
        self.jobs[name] = JobState("PENDING", "PartitionDown", comment)
        return name

    def end(self, name, state):
        self.jobs[name] = self.jobs[name]._replace(name=state)

    def states(self):
        return dict(self.jobs) if self.answers else None

    def failed(self, job):
        return self.said.get(job, ())

    def cancel(self, jobs):
        self.cancelled += sorted(jobs)

    def end_of_log(self, job):
        return f"the log of {job}"


@pytest.fixture
def queued(tmp_path, monkeypatch):
    """A pool on a queue without a cluster, which is looked at each time."""
    for name in ("LOOK_SECONDS", "POLL_SECONDS"):
        monkeypatch.setattr(slurm, name, 0.0)
    pool = SlurmPool(Store(tmp_path), SlurmSettings(), device="cpu", project=tmp_path)
    pool._queue = Queue()
    return pool


def test_runs_that_ended_with_their_job_are_tried_once_more_one_by_one(queued):
    queue = queued._queue
    queued.submit(BATCH)
    queue.end("1", "OUT_OF_MEMORY")
    assert list(queued.events(0)) == list(queued.events(0)) == []
    assert sorted(queue.jobs) == ["1", "2", "3"]
    queue.said["2"] = [Failed(RUNS[0], "its reason")]
    queue.end("3", "TIMEOUT")
    told = [*queued.events(0), *queued.events(0)]
    assert told[0] == Failed(RUNS[0], "its reason")
    assert "failed on the cluster: its job 3 of Slurm ended as TIMEOUT" in told[1].why
    assert told[1].details == "the log of 3"
    assert told[2:] == [Ended(1)]
    queued.submit(BATCH)
    queue.end("4", "CANCELLED")  # somebody wants none of it
    told = [*queued.events(0), *queued.events(0)]
    assert [type(event) for event in told] == [Failed, Failed, Ended]


def test_jobs_of_a_session_before_are_waited_for(queued):
    queue = queued._queue
    queue.jobs["9"] = JobState("RUNNING", "", f"0,{KEYS[1][:KEY_LETTERS]}")
    queue.jobs["8"] = JobState("FAILED", "", KEYS[0][:KEY_LETTERS])
    queued.submit(BATCH)
    assert queue.jobs.popitem()[1].comment == KEYS[0][:KEY_LETTERS]
    assert queued.room() == 98
    queued.stop()
    assert queue.cancelled == ["3", "9"]


def test_a_wait_is_told_with_the_schedulers_reason(queued):
    queued.submit(BATCH)
    assert list(queued.events(0)) == []
    assert queued.waits_for == "Slurm to start its jobs (PartitionDown)"
    queued._queue.answers = False
    assert list(queued.events(0)) == []
    assert queued.waits_for == "Slurm, which does not answer"


def test_jobs_train_on_a_gpu_where_they_have_one():
    asked = [("auto", 0), ("auto", 2), ("cpu", 1), ("cuda", 0)]
    found = [device_of_nodes("Slurm", name, has_gpus=gpus > 0) for name, gpus in asked]
    assert found == ["cpu", "cuda", "cpu", "cuda"]


def test_a_job_without_a_checkpoint_in_its_time_fails_its_runs(tmp_path, monkeypatch):
    job = BatchJob(tmp_path, BATCH, device="cpu", minutes=0)

    def train(batch, *, device, files):
        (files.folder(RUNS[0]) / "files").mkdir()  # a black box that keeps nothing has asked for it
        with pytest.raises(TimeoutError, match="no checkpoint within the time limit of 0 min"):
            job.checkpoint()
        return [Failed(RUNS[0], "its reason")]

    monkeypatch.setattr("repro.backends.slurm.train_here", train)
    assert [event.why for event in job()] == ["its reason"]

    def save(batch, *, device, files):
        files.save_checkpoint(RUNS[0], b"half")
        again = job.checkpoint().function
        assert (again.batch, again.root) == (BATCH, tmp_path)
        return []

    monkeypatch.setattr("repro.backends.slurm.train_here", save)
    assert job() == []


def test_a_job_whose_black_box_keeps_a_file_is_started_again(tmp_path, monkeypatch):
    job = BatchJob(tmp_path, BATCH, device="cpu", minutes=0)

    def keep(batch, *, device, files):
        (files.folder(RUNS[0]) / "files").mkdir()
        (files.folder(RUNS[0]) / "files" / "model.pt").touch()
        assert job.checkpoint().function.batch == BATCH
        return []

    monkeypatch.setattr("repro.backends.slurm.train_here", keep)
    assert job() == []


def test_a_node_refuses_runs_that_have_another_key_there(monkeypatch):
    refused = list(train_here(BATCH, device="cpu", files=None))
    assert [event.run for event in refused] == RUNS
    assert all("stored under another key by the node" in event.why for event in refused)
    there = mock.Mock(side_effect=OSError("no such data"))
    monkeypatch.setattr("repro.backends.trainer.identity", there)
    first, _ = train_here(BATCH, device="cpu", files=None)
    assert first.why.endswith("cannot be trained on the node that it was sent to: no such data")


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
        for name in ("sbatch", "srun", "squeue", "scancel"):
            path = tmp_path / "bin" / name
            path.write_text(SBATCH.format(folder=tmp_path, then=then))
            path.chmod(0o755)

    return make


def submit(tmp_path, settings, **asks):
    queue = SlurmQueue(Store(tmp_path / "store"), settings, project=tmp_path)
    batch = Batch(1, {Run(Behaving(**asks), run.seed): BATCH.runs[run] for run in RUNS}, "loop")
    return queue.submit(batch, "cpu")


def test_wishes_are_handed_to_sbatch(tmp_path, sbatch):
    sbatch("echo Submitted batch job 77")
    settings = SlurmSettings(partition="gpu", account="lab", minutes=30, memory=1.5, gpus=2)
    assert submit(tmp_path, settings, threads=2) == "77"
    script = (tmp_path / "script").read_text()
    for line in (
        *("--partition=gpu", "--account=lab", "--time=30", "--mem=1536M", "--gpus-per-node=2"),
        *("--cpus-per-task=2", "--requeue", "--signal=USR2@90", "--job-name=repro-"),
        f"--comment={KEYS[0][:KEY_LETTERS]},{KEYS[1][:KEY_LETTERS]}",
    ):
        assert f"#SBATCH {line}" in script, script
    assert f"env --chdir={tmp_path} " in script
    assert f"{sys.executable} -u -m submitit" in script
    for gpus, line in ((0, "--cpus-per-task=3"), (1, "--gpus-per-node=3")):
        submit(tmp_path, SlurmSettings(gpus=gpus), devices=3, threads=2)
        assert f"#SBATCH {line}\n" in (tmp_path / "script").read_text()


def test_what_sbatch_refuses_is_one_sentence(tmp_path, sbatch):
    sbatch("echo 'sbatch: error: Invalid account' >&2; exit 1")
    with pytest.raises(TrainingStopped, match=r"^Slurm did not take the jobs \(Invalid account\)$"):
        submit(tmp_path, SlurmSettings())


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
            require_executor(name)
    for library, name in (("submitit", "slurm"), ("ray", "ray://127.0.0.1:9")):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ValueError, match=r"pip install 'repro-claims\[(slurm|ray)\]'"):
            require_executor(name)
