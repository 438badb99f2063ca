"""What the backend for Slurm is made of, without a cluster."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from repro.arm import Run
from repro.backends.choose import backend_named, require_backend
from repro.backends.devices import Demand
from repro.backends.slurm.settings import SlurmSettings
from repro.core.speed import Speed
from repro.runs.backend import TrainingStopped
from repro.runs.jobs import Batch
from repro.store import Store
from repro.studies.depth_ladder.arms import D256_L4

pytest.importorskip("submitit", reason="not installed: submitit")

from repro.backends.slurm import queue as slurm_queue
from repro.backends.slurm.backend import SlurmBackend, device_for
from repro.backends.slurm.node import NodeJob, _BatchAtWork
from repro.backends.slurm.queue import GONE, JobState, SlurmQueue, end_of_log
from repro.backends.slurm.shared import Errand, SharedFolder
from repro.backends.slurm.snapshot import PROJECT, environment_of, snapshot

RUNS = [Run(D256_L4.at("ci"), seed) for seed in (1, 2)]


def batch(runs=RUNS, seconds=0.01):
    keys = [str(run.seed) * 64 for run in runs]
    return Batch(1, runs, keys, Speed("loop", 1, seconds), None, ExitStack())


@pytest.fixture
def shared(tmp_path):
    folder = SharedFolder(tmp_path / "shared")
    folder.make()
    return folder


def left_in(shared, job=None):
    job = job or batch()
    return shared.leave(Errand(job, tuple(job.keys), "cpu", Path("/nowhere")))


def at_work(shared, *, minutes, took, saved):
    name = left_in(shared)
    job = NodeJob(shared.root, (name,), minutes=minutes)
    work = _BatchAtWork(shared, name)
    work._left, work._keys = {RUNS[0]: {}}, {RUNS[0]: "1" * 64}
    work.has_saved = saved
    job._at_work, job._began = work, time.monotonic() - took
    return name, job.checkpoint()


def test_a_job_that_comes_to_no_checkpoint_in_all_its_time_is_given_up_with_a_sentence(shared):
    for took, saved in ((100, True), (10, False)):  # its time is up, or it is preempted
        _, again = at_work(shared, minutes=2, took=took, saved=saved)
        assert isinstance(again.function, NodeJob)
    name, again = at_work(shared, minutes=2, took=100, saved=False)
    assert again is None
    ((why, _),) = shared.report(name).failed.values()
    assert "came to no checkpoint within the time limit of 2 min; give its job more by" in why
    assert shared.report(name).is_over


SQUEUE = "12_0|RUNNING|None\n12_1|PENDING|Resources\n13|COMPLETED|None\n"


def test_states_are_read_from_squeue(tmp_path, monkeypatch):
    waits, ended = JobState("PENDING", "Resources"), JobState("COMPLETED", "None")
    for code, said, states in (
        (0, SQUEUE, {"12_1": waits, "13": ended}),
        (1, "slurm_load_jobs error: Invalid job id specified", {"12_1": GONE, "13": GONE}),
        (1, "slurm_load_jobs error: Unable to contact slurm controller", None),
    ):
        answer = subprocess.CompletedProcess([], code, stdout=said, stderr=said)
        monkeypatch.setattr(slurm_queue.subprocess, "run", lambda *_, answer=answer, **__: answer)
        queue = SlurmQueue(tmp_path, "repro-test", SlurmSettings())
        assert queue.states(["12_1", "13"]) == states


SBATCH = """#!/bin/sh
cp "$1" {folder}/script
echo "$3" >> {folder}/said
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


def test_one_job_is_no_array_and_a_short_one_is_told_later(tmp_path, sbatch):
    sbatch("echo Submitted batch job 78")
    assert submit(tmp_path, 1, SlurmSettings(minutes=1)) == ["78"]
    script = (tmp_path / "script").read_text()
    assert "--signal=USR2@15\n" in script
    assert "--array" not in script
    assert "--mem" not in script


def test_what_sbatch_refuses_is_one_sentence(tmp_path, sbatch):
    sbatch("echo 'sbatch: error: Invalid account' >&2; exit 1")
    with pytest.raises(TrainingStopped, match=r"^Slurm did not take the jobs \(Invalid account\)$"):
        submit(tmp_path, 1, SlurmSettings())


def test_the_end_of_a_log_or_why_there_is_none(tmp_path):
    (tmp_path / "5_0_log.out").write_text("\n".join(map(str, range(100))))
    text = end_of_log(tmp_path, "5")
    assert text.endswith("\n98\n99")
    assert len(text.splitlines()) == 31
    assert "has to be on a disk that all nodes share" in end_of_log(tmp_path, "6")


@pytest.fixture
def code(tmp_path):
    root = tmp_path / "code"
    for place in ("a.py", "below/b.py", ".hidden/c.py", "__pycache__/a.pyc", "env/pyvenv.cfg"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("1")
    return root


def names(folder):
    return {str(p.relative_to(folder)) for p in (folder / PROJECT).rglob("*") if p.is_file()}


def test_the_snapshot_has_the_code_once_by_what_is_in_it(code, tmp_path):
    into = tmp_path / "into"
    first = snapshot(code, tmp_path / "store", into)
    assert names(first) == {"project/a.py", "project/below/b.py"}
    assert (first / "library" / "repro" / "arm.py").is_file()
    assert any((first / "library" / "repro" / "_fixtures").iterdir())
    assert snapshot(code, tmp_path / "store", into) == first
    (code / "a.py").write_text("2")
    second = snapshot(code, tmp_path / "store", into)
    assert second != first
    assert (first / PROJECT / "a.py").read_text() == "1"


def test_the_folder_of_snapshots_is_no_code(code, tmp_path):
    into = code / "shared" / "code"
    first = snapshot(code, tmp_path / "store", into)
    assert snapshot(code, tmp_path / "store", into) == first


def test_in_a_repository_the_snapshot_has_what_git_would_add(code, tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=code, check=True)
    (code / ".gitignore").write_text("below/\n")
    (code / "new.py").write_text("not committed")
    found = names(snapshot(code, tmp_path / "store", tmp_path / "into"))
    assert found == {"project/.gitignore", "project/.hidden/c.py", "project/a.py", "project/new.py"}


def test_a_node_finds_the_snapshot_before_anything_else(code, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(code / "below"))
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    first, *_, library, last = environment_of(tmp_path, code)["PYTHONPATH"].split(os.pathsep)
    assert first == str(tmp_path / PROJECT / "below")
    assert library == str(tmp_path / "library")
    assert last == "/elsewhere"


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
    assert list(lines) == [
        "5 batches would be submitted to Slurm, each job partition gpu, 60 min, 1 GPU",
        "2 programs would be timed first, in a job each",
        f"at most 7 jobs at a time; their folder: {tmp_path / 'store' / 'slurm'}",
    ]
    assert not (tmp_path / "store" / "slurm").exists()


class Stubborn:
    """A queue whose jobs never start, and that may not even answer."""

    def __init__(self, answers):
        self.answers = answers

    def submit(self, jobs, **_):
        return [str(n) for n, _ in enumerate(jobs)]

    def states(self, ids):
        return (
            {each: JobState("PENDING", "PartitionDown") for each in ids} if self.answers else None
        )

    def cancel(self):
        pass


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (True, "Slurm to start 1 job: 1 pending (PartitionDown)"),
        (False, "Slurm, which does not answer"),
    ],
)
def test_a_long_wait_is_told_with_the_schedulers_reason(answers, said, tmp_path, monkeypatch):
    waits = backend(tmp_path)
    waits._queue = waits._sender._queue = Stubborn(answers)
    waits.start(batch(), lambda event: None)
    monkeypatch.setattr("repro.backends.slurm.backend.LEAST_SECONDS", 0.0)
    monkeypatch.setattr("repro.backends.slurm.backend.POLL_SECONDS", 0.0)
    assert list(waits.events()) == []
    assert waits.waits_for == ""
    waits._news -= 60
    waits._looked = 0.0
    assert list(waits.events()) == []
    assert waits.waits_for == said
    assert waits.room() == 99
    assert waits.stop() == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--slurm-time", "0"], "--slurm-time 0 is too small; give at least 1."),
        (["--executor", "slurm"], "Slurm's commands, and there is no sbatch here; run it where"),
    ],
)
def test_bad_use_is_one_sentence(options, sentence, pytester, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    pytester.makepyfile(test_one=CLAIM)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)
    said = result.stdout.str() + result.stderr.str()
    assert sentence in said
    assert "Traceback" not in said
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_what_no_job_can_be_given_is_said():
    for wrong in ({"max_jobs": 0}, {"minutes": 0}, {"gpus": -1}):
        with pytest.raises(ValueError, match="is too small; give at least"):
            SlurmSettings(**wrong).require_sound()
    with pytest.raises(ValueError, match="--slurm-memory -1 is no memory; give gigabytes"):
        SlurmSettings(memory=-1).require_sound()


def test_an_executor_that_cannot_be_used_says_what_is_missing(monkeypatch):
    for name, address, sentence in (
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


CLAIM = """
from repro import claim

@claim("a sentence", source="900, Text")
def test_one(trials):
    pass
"""


def test_bits_of_one_machine_cannot_be_asked_of_slurm(sbatch, tmp_path):
    sbatch("exit 1")
    for name in ("squeue", "scancel"):
        (tmp_path / "bin" / name).symlink_to(tmp_path / "bin" / "sbatch")
    at = {"device": "cpu", "processes": 1, "project": tmp_path, "same_machine": True}
    with pytest.raises(ValueError, match="--same-machine cannot be kept with --executor slurm"):
        backend_named("slurm", Store(tmp_path / "store"), **at)
