"""Slurm as a pool: a real one with two nodes, and what can be shown without one."""

import json
import math
import os
import pickle
import re
import stat
import sys
from unittest import mock

import pytest
from cluster_lines import LONG, Project, Session, entries, train_200_runs_and_lose_a_node
from slurm_cluster import Slurm, lacking

from repro.arm import Run
from repro.backends.cluster import device_of_nodes, require_executor, slurm_parameters
from repro.backends.trainer import train_here
from repro.runs.pool import Batch, Ended, Failed, Stored, Trained, TrainingStopped
from repro.store import Store
from repro.store.run_files import UNKNOWN, key_of
from repro.studies.depth_ladder.arms import D256_L4
from tests.backends.behaving import Behaving

pytest.importorskip("submitit", reason="not installed: submitit")

from repro.backends import slurm
from repro.backends.slurm import JobState, Said, SlurmPool, SlurmQueue, SlurmTraining


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
    monkeypatch.setattr(slurm, "POLL_SECONDS", 1.0)
    cluster.revive()
    entered.clean()
    return entered


def pool(project, store, **parameters):
    return SlurmPool(store, parameters, device="cpu", project=project.folder)


@pytest.mark.slurm
def test_200_runs_over_two_nodes_one_of_which_is_lost_have_the_bytes_of_this_machine(
    cluster, project, tmp_path
):
    train_200_runs_and_lose_a_node(cluster, project, tmp_path, lambda s: pool(project, s))


@pytest.mark.slurm
def test_a_job_goes_on_from_its_checkpoint_where_its_time_limit_nears(cluster, project, tmp_path):
    (batch,) = project.batches([1], epochs=LONG)
    store = Store(tmp_path / "store")
    session = Session(store, pool(project, store), [batch])
    with project.slowly():
        session.until(lambda: all(map(store.checkpoints.load, batch.keys.values())))
        (job,) = cluster.jobs()
        cluster.run("scancel", "--signal=USR2", job)
        session.until(lambda: not cluster.jobs())
        lost = sum(project.steps())
    session.finish()
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
    assert "would be another run where it was sent to" in failed[ELSEWHERE].why
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

    def __init__(self):
        self.jobs, self.takes, self.heard, self.of_jobs, self.cancelled = [], 99, {}, {}, []
        self.arrays = []

    def submit(self, jobs, *, cores, devices):
        if len(jobs) > self.takes:
            raise TrainingStopped("too many jobs")
        before = len(self.jobs)
        for batches in jobs:
            self.jobs.append([sorted(run.seed for run in batch.runs) for batch in batches])
            self.end(str(len(self.jobs)), "PENDING")
        self.arrays.append(len(jobs))
        return list(map(str, range(before + 1, len(self.jobs) + 1)))

    def states(self):
        return self.of_jobs

    def end(self, name, state):
        self.of_jobs[name] = JobState(state)

    def said(self):
        said, self.heard = self.heard, {}
        return said

    def cancel(self, jobs):
        self.cancelled += sorted(jobs)

    def end_of_log(self, job):
        return f"the log of {job}"


@pytest.fixture
def queued(tmp_path, monkeypatch):
    """A pool on a queue without a cluster, which is looked at each time."""
    for name in ("LOOK_SECONDS", "POLL_SECONDS"):
        monkeypatch.setattr(slurm, name, 0.0)
    pool = SlurmPool(Store(tmp_path), {}, device="cpu", project=tmp_path)
    pool._queue = Queue()
    return pool


def batch_of(*seeds, seconds, arm=RUNS[0].arm):
    of = {Run(arm, seed): {"seed": seed} for seed in seeds}
    return Batch(seeds[0], of, "loop", seconds=seconds)


def test_a_job_is_given_much_more_work_than_its_start_takes(queued):
    for seed in range(1, 6):
        queued.submit(batch_of(seed, seconds=slurm.SECONDS_OF_A_JOB / 2.5))
    queued.submit(batch_of(6, seconds=1.0, arm=Behaving(threads=2)))  # of another kind of job
    assert queued.room() == slurm.JOBS - 1
    list(queued.events(0))
    assert queued._queue.jobs == [[[1], [2], [3]], [[4], [5]], [[6]]]
    assert queued._queue.arrays == [2, 1]
    queued.submit(batch_of(7, 8, seconds=math.inf))  # nobody knows
    queued.submit(batch_of(9, seconds=1.0))
    list(queued.events(0))
    assert queued._queue.jobs[3:] == [[[7, 8]], [[9]]]
    assert queued.room() == slurm.JOBS - 5


def test_each_run_is_heard_of_when_its_job_leaves_a_file_and_looked_up_then(queued, monkeypatch):
    store, looks = queued._store, []
    measured = store.measured
    monkeypatch.setattr(store, "measured", lambda key: looks.append(key) or measured(key))
    queued.submit(BATCH)
    assert list(queued.events(0)) == []
    assert looks == []
    key = key_of(BATCH.runs[RUNS[0]], UNKNOWN)
    queued._queue.heard = {KEYS[0]: Said(key)}
    assert list(queued.events(0)) == []  # the disk does not show it here yet
    store.put(BATCH.runs[RUNS[0]], {"steps": 1}, {})
    assert list(queued.events(0)) == [Stored(RUNS[0], key)]
    assert looks == [key] * 2
    queued._queue.heard = {KEYS[0]: Said(key), KEYS[1]: Said("", "its reason", "its log")}
    assert list(queued.events(0)) == [Failed(RUNS[1], "its reason", "its log"), Ended(1)]


def test_runs_that_ended_with_their_job_are_tried_once_more_one_by_one(queued):
    queue = queued._queue
    queued.submit(BATCH)
    list(queued.events(0))
    queue.end("1", "OUT_OF_MEMORY")
    assert [*queued.events(0), *queued.events(0), *queued.events(0)] == []
    assert queue.jobs == [[[1, 2]], [[1]], [[2]]]
    key = queued._store.put(BATCH.runs[RUNS[0]], {"steps": 1}, {})  # and it could not say so
    for job in ("2", "3"):
        queue.end(job, "TIMEOUT")
    stored, failed, ended = [*queued.events(0), *queued.events(0)]
    assert (stored, ended) == (Stored(RUNS[0], key), Ended(1))
    assert "failed on the cluster: its job 3 of Slurm ended as TIMEOUT" in failed.why
    assert failed.details == "the log of 3"
    queued.submit(BATCH)
    list(queued.events(0))
    queue.end("4", "CANCELLED")  # somebody wants none of it
    told = [*queued.events(0), *queued.events(0)]
    assert [type(event) for event in told] == [Failed, Failed, Ended]


def test_where_slurm_takes_no_more_jobs_batches_wait_for_those_that_it_has(queued, monkeypatch):
    queue = queued._queue
    queued.submit(batch_of(1, seconds=math.inf))
    list(queued.events(0))
    queue.takes = 0
    monkeypatch.setattr(slurm, "POLL_SECONDS", 60.0)
    queued.submit(batch_of(2, seconds=math.inf))
    list(queued.events(0))
    assert queued.room() == 0
    queued.stop()
    assert queue.cancelled == ["1"]
    monkeypatch.setattr(slurm, "POLL_SECONDS", 0.0)
    for seed in (3, 4, 5):
        queued.submit(batch_of(seed, seconds=math.inf))
    with pytest.raises(TrainingStopped, match="too many jobs"):
        list(queued.events(0))
    queue.takes = 2  # a smaller array fits
    list(queued.events(0))
    assert queue.jobs == [[[1]], [[3]], [[4]], [[5]]]


def test_a_wait_is_told_with_the_schedulers_reason(queued):
    queue = queued._queue
    for seed in (1, 2, 3):
        queued.submit(batch_of(seed, seconds=math.inf))
    list(queued.events(0))
    queue.of_jobs = dict.fromkeys("123", JobState("PENDING", "PartitionDown"))
    assert list(queued.events(0)) == []
    assert queued.waits_for == "Slurm to start its jobs (PartitionDown)"
    queue.end("1", "RUNNING")
    assert list(queued.events(0)) == []
    assert queued.waits_for == ""
    queue.of_jobs = None
    assert list(queued.events(0)) == []
    assert queued.waits_for == "Slurm, which does not answer"


def test_jobs_train_on_a_gpu_where_they_have_one():
    asked = [("auto", 0), ("auto", 2), ("cpu", 1), ("cuda", 0)]
    found = [device_of_nodes("Slurm", name, has_gpus=gpus > 0) for name, gpus in asked]
    assert found == ["cpu", "cuda", "cpu", "cuda"]


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job that trains a batch, and has no time for it."""
    (tmp_path / "said").mkdir()
    monkeypatch.setattr(slurm.record, "start", lambda **_: None)
    return SlurmTraining(tmp_path, tmp_path, [BATCH], tmp_path / "said", "cpu", 0)


def test_a_job_leaves_a_file_about_each_run(job, monkeypatch, tmp_path):
    def train(batch, *, device, files):
        yield Trained(RUNS[0], {"steps": 1}, {}, trace={"arms": []})
        assert (tmp_path / "said" / f"{KEYS[0]}.json").exists()  # before the other is trained
        yield Failed(RUNS[1], "its reason", "its log")

    monkeypatch.setattr("repro.backends.slurm.train_here", train)
    job()
    queue = SlurmQueue(Store(tmp_path), {}, device="cpu", project=tmp_path)
    queue._said = tmp_path / "said"
    said = queue.said()
    assert Store(tmp_path).at(said[KEYS[0]].key).values == {"steps": 1}
    assert said[KEYS[1]] == Said("", "its reason", "its log")
    assert queue.said() == {}
    assert [list(batch.runs) for batch in job.batches] == [[]]  # if Slurm starts it again


def test_a_job_without_a_checkpoint_in_its_time_fails(job, monkeypatch, tmp_path):
    def train(batch, *, device, files):
        (files.folder(RUNS[0]) / "files").mkdir()  # a black box that keeps nothing has asked for it
        with pytest.raises(TimeoutError, match="no checkpoint within the time limit of 0 min"):
            job.checkpoint()
        files.save_checkpoint(RUNS[0], b"half")
        again = job.checkpoint().function
        assert (again.batches, again.root) == ([BATCH], tmp_path)
        return []

    monkeypatch.setattr("repro.backends.slurm.train_here", train)
    job()


def test_a_job_whose_black_box_keeps_a_file_is_started_again(job, monkeypatch):
    def keep(batch, *, device, files):
        (files.folder(RUNS[0]) / "files").mkdir()
        (files.folder(RUNS[0]) / "files" / "model.pt").touch()
        assert job.checkpoint().function.batches == [BATCH]
        return []

    monkeypatch.setattr("repro.backends.slurm.train_here", keep)
    job()


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harm",)


def test_what_jobs_say_is_read_as_json_alone_from_a_folder_of_this_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    queue = SlurmQueue(Store(tmp_path), {}, device="cpu", project=tmp_path)
    bad = pickle.dumps(Harmful())
    for name, content in (
        ("1.json", bad),
        ("2.json", b'{"why": "its'),
        ("3.json", b"[1, 2]"),
        ("4.json", json.dumps({"who": "me"}).encode()),
        ("5.json.0a1b.new", b"{}"),
        ("6_0_result.pkl", bad),
        ("7.json", json.dumps({"why": "its reason"}).encode()),
    ):
        (queue._said / name).write_bytes(content)
    assert queue.said() == {"7": Said("", "its reason")}
    assert not (tmp_path / "harm").exists()
    assert stat.S_IMODE(queue.folder.stat().st_mode) == 0o700


def test_a_node_refuses_runs_that_are_others_there(monkeypatch):
    refused = list(train_here(BATCH, device="cpu", files=None))
    assert [event.run for event in refused] == RUNS
    assert all("would be another run where it was sent to" in event.why for event in refused)
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


def submit(tmp_path, *texts, device="cpu", cores=1, devices=1, jobs=1):
    parameters = slurm_parameters([f"folder={tmp_path / 'logs'}", *texts])
    queue = SlurmQueue(Store(tmp_path), parameters, device=device, project=tmp_path)
    return queue.submit([[BATCH]] * jobs, cores=cores, devices=devices)


def test_parameters_are_handed_to_submitit(tmp_path, sbatch):
    sbatch("echo Submitted batch job 77")
    texts = ("partition=gpu", "account=007", "time=30", "mem=1536M", "gpus_per_node=2", "qos=low")
    lists = ('setup=["module load cuda"]', 'additional_parameters={"reservation": "mine"}')
    assert submit(tmp_path, *texts, *lists, device="cuda", cores=2) == ["77"]
    script = (tmp_path / "script").read_text()
    for line in (
        *("--partition=gpu", "--account=007", "--time=30", "--mem=1536M", "--gpus-per-node=2"),
        *("--cpus-per-task=2", "--requeue", "--signal=USR2@90", "--job-name=repro-"),
        *("--qos=low", "--reservation=mine"),
    ):
        assert f"#SBATCH {line}" in script, script
    assert "\nmodule load cuda\n" in script
    assert f"env --chdir={tmp_path} " in script
    assert f"{sys.executable} -u -m submitit" in script
    for device, text, line in (
        ("cpu", "cpus_per_task=3", "--cpus-per-task=3"),
        ("cuda", "gpus_per_node=1", "--gpus-per-node=3"),
        ("cuda", "gres=gpu:a100:3", "--gres=gpu:a100:3"),
    ):
        submit(tmp_path, text, device=device, devices=3)
        assert f"#SBATCH {line}\n" in (tmp_path / "script").read_text()
    assert submit(tmp_path, jobs=3) == ["77_0", "77_1", "77_2"]
    assert "#SBATCH --array=0-2%3\n" in (tmp_path / "script").read_text()


def test_what_sbatch_refuses_is_one_sentence(tmp_path, sbatch):
    sbatch("echo 'sbatch: error: Invalid account' >&2; exit 1")
    with pytest.raises(TrainingStopped, match=r"^Slurm did not take the jobs \(Invalid account\)$"):
        submit(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("partition", "'partition' is not written KEY=VALUE, as in partition=gpu"),
        ("partition=", "'partition=' is not written KEY=VALUE"),
        ("=gpu", "'=gpu' is not written KEY=VALUE"),
        ("time=1-00:00:00", "time=1-00:00:00 is not a number of whole minutes"),
        ("time=0", "time=0 is not a number of whole minutes"),
        ("time=true", "time=True is not a number of whole minutes"),
        ("array_parallelism=-1", "array_parallelism=-1 is not a number of jobs"),
        ("setup=module load cuda", "setup=module load cuda is not a list as JSON"),
        ("nodes=2", "nodes=… cannot be given: a job is one process on one node"),
        ("memory=16", "submitit has no parameter of this name; it has account, additional_param"),
    ],
)
def test_what_no_job_can_be_given_is_said(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=f"^--slurm .*{re.escape(sentence)}"):
        SlurmPool(Store(tmp_path), slurm_parameters([text]), device="cpu", project=tmp_path)


def test_an_executor_that_cannot_be_used_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    for name, address, sentence in (
        ("slurm", "", "Slurm's commands, and there is no sbatch here; run it where"),
        ("condor", "", "There is no executor 'condor'; choose local, slurm, or ray"),
        ("ray", "", "set RAY_ADDRESS to HOST:PORT"),
        ("ray", "ray://here:10001", "is no address of a Ray cluster"),
        ("ray", "127.0.0.1:9", "Nobody answers at 127.0.0.1:9"),
    ):
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(ValueError, match=sentence):
            require_executor(name)
    for library, name in (("submitit", "slurm"), ("ray", "ray")):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ValueError, match=r"pip install 'repro-claims\[(slurm|ray)\]'"):
            require_executor(name)
