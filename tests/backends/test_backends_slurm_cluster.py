"""Sessions on a real Slurm: a controller, and nodes with daemons of their own."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from slow_lines import RUNS, STEPS, Project, trained
from slurm_cluster import Slurm, lacking

from tests.oracles import oracle

oracle("submitit")
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(lacking()), reason=f"no Slurm can be started: {lacking()}"),
    pytest.mark.xdist_group("one Slurm for all of these tests"),
]

ROOT = Path(__file__).parents[2]
ON_SLURM = ("--executor", "slurm")
FOUR = (*ON_SLURM, "-k", "rises", "--seed-budget", "4")
"""One arm, four runs: one for each node."""

TWO = (*ON_SLURM, "-k", "rises", "--seed-budget", "2")


class SlurmProject(Project):
    """Stores that know how long a line takes, so that nothing is timed on the way."""

    def prepare(self, store, *, seconds):
        """Begin a store whose programs take so many seconds a step, by what it says."""
        shutil.copytree(self.folder / "here" / "engines", self.folder / store / "engines")
        for path in (self.folder / store / "engines").iterdir():
            speed = {**json.loads(path.read_text())["speed"], "seconds": seconds}
            sums = hashlib.sha256(json.dumps(speed, sort_keys=True).encode()).hexdigest()
            path.write_text(json.dumps({"speed": speed, "sha256": sums}))

    def afterwards(self, true, seconds=60):
        """Wait for something that needs no session any more."""
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def saved(self, store):
        """The step of each checkpoint in the folder that nodes share, by seed."""
        return self.checkpoints(f"{store}/slurm/results")

    def shared(self, store):
        """The names of what is on its way, in the folder that nodes share."""
        folder = self.folder / store / "slurm"
        places = ("sent", "batches", "results/runs/*", "results/checkpoints/*")
        return [path.name for place in places for path in folder.glob(f"{place}/*")]


@pytest.fixture(scope="module")
def machines():
    slurm = Slurm(nodes=4)
    try:
        slurm.__enter__()
    except RuntimeError as error:  # a container may let no daemon work: CI says it, with their logs
        pytest.skip(str(error))
    yield slurm
    slurm.__exit__()


@pytest.fixture
def slurm(machines):
    """A controller and four nodes, whatever the last test did to them."""
    machines.revive()
    return machines


@pytest.fixture(scope="module")
def module_project(tmp_path_factory, machines):
    project = SlurmProject(tmp_path_factory.mktemp("slurm"), machines)
    assert "3 of 3 settled verdicts" in project.run("here")
    return project


@pytest.fixture
def project(module_project, slurm):
    with module_project.for_one_test():
        yield module_project


def test_results_are_those_of_this_machine_under_the_same_keys(project):
    text = project.run("far", *ON_SLURM)
    assert "3 of 3 settled verdicts" in text, text
    assert trained(text) == RUNS
    assert project.entries("far") == project.entries("here")
    assert len(project.entries("far")) == RUNS
    assert project.shared("far") == []
    (data,) = (project.folder / "far" / "slurm" / "data" / "files").iterdir()
    assert data.name == hashlib.sha256(project.data.read_bytes()).hexdigest()
    (made, *_) = (project.folder / "far" / "runs").glob("*/*/provenance.json")
    assert json.loads(made.read_text())["seconds"] > 0


def test_a_killed_job_a_lost_node_a_requeue_and_a_time_limit_cost_a_checkpoint_each(project, slurm):
    project.prepare("shaken", seconds=1.0)
    (project.marks / "slow").touch()
    session = project.session("shaken", *FOUR, "--slurm-time", "1")
    project.until(lambda: len(project.saved("shaken")) == 4)
    before, saved = project.steps(), project.saved("shaken")
    killed, lost, requeued, timed_out = sorted(slurm.jobs().items())
    assert slurm.processes(killed[0])
    for process in slurm.processes(killed[0]):
        os.kill(process, signal.SIGKILL)
    slurm.kill(lost[1])
    slurm.run("scontrol", "update", f"NodeName={lost[1]}", "State=DOWN", "Reason=test")
    slurm.run("scontrol", "requeue", requeued[0])
    logs = project.folder / "shaken" / "slurm" / "logs"
    log = logs / f"{timed_out[0]}_0_log.out"
    project.until(lambda: "Caught signal SIGUSR2" in log.read_text())
    (project.marks / "slow").unlink()
    text = session.communicate(timeout=150)[0]
    assert trained(text) == 4, text
    assert len(project.entries("shaken")) == 4
    assert project.entries("shaken").items() <= project.entries("here").items()
    again = sum(project.steps().values()) - 4 * STEPS
    assert again > 0
    assert len(before) == 4
    assert again <= sum(STEPS - saved[seed] for seed in saved), (before, saved, project.steps())
    assert project.shared("shaken") == []


def test_a_session_may_leave_its_jobs_and_the_same_command_collects(project, slurm):
    project.prepare("left", seconds=1.0)
    (project.marks / "slow").touch()
    text = project.run("left", *FOUR, "--detach")
    assert "Left with Slurm: 4 jobs: 4 " in text, text
    assert "Traceback" not in text
    assert list((project.folder / "left" / "locks").iterdir()) == []
    project.afterwards(lambda: len(slurm.jobs()) == 4)
    text = project.run("left", *FOUR, "--detach")
    assert "Left with Slurm: 4 jobs: 4 running" in text, text
    assert len(slurm.queue()) == 4
    (project.marks / "slow").unlink()
    project.afterwards(lambda: not slurm.queue())
    text = project.run("left", *FOUR, "--detach")
    assert trained(text) == 4, text
    assert "INTERNALERROR" not in text
    assert project.entries("left").items() <= project.entries("here").items()
    assert sum(project.steps().values()) == 4 * STEPS


def test_ctrl_c_cancels_the_jobs_and_keeps_their_checkpoints(project, slurm):
    project.prepare("stopped", seconds=1.0)
    (project.marks / "slow").touch()
    session = project.session("stopped", *TWO)
    project.until(lambda: len(project.saved("stopped")) == 2)
    session.send_signal(signal.SIGINT)
    text = session.communicate(timeout=60)[0]
    assert session.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "the same command goes on from there" in text
    assert "Traceback" not in text
    project.afterwards(lambda: not slurm.queue())
    assert list((project.folder / "stopped" / "locks").iterdir()) == []
    assert len(project.checkpoints("stopped")) == 2
    assert project.shared("stopped") == []


def test_two_sessions_on_one_store_train_no_run_twice(project):
    project.prepare("shared", seconds=1.0)
    both = [project.session("shared", *FOUR) for _ in range(2)]
    texts = [session.communicate(timeout=150)[0] for session in both]
    assert sum(map(trained, texts)) == 4, texts
    assert all("4 distinct runs needed" in text for text in texts)
    assert sum(project.steps().values()) == 4 * STEPS


def test_what_cannot_be_trained_there_fails_its_claim_with_the_reason(project):
    text = project.run("odd", *ON_SLURM, "odd_lines.py")
    assert "failed to train: ZeroDivisionError: no slope today" in text
    assert 'raise ZeroDivisionError("no slope today")' in text
    assert "would be stored under another key by the node" in text
    assert project.entries("odd") == {}
    assert project.shared("odd") == []


def test_a_job_that_never_starts_says_the_schedulers_reason(project, slurm):
    project.prepare("closed", seconds=1.0)
    text = project.run("closed", *TWO, "--slurm-partition", "closed", "--detach")
    assert "2 pending (PartitionDown)" in text, text


def test_a_refused_job_is_one_sentence(project):
    project.prepare("refused", seconds=1.0)
    text = project.run("refused", *TWO, "--slurm-partition", "nowhere")
    assert "Slurm did not take the jobs (" in text, text
    assert "invalid partition specified: nowhere" in text
    assert "Traceback" not in text
    assert project.shared("refused") == []


LADDER = ("claims/test_depth_ladder.py", "-k", "004/bp_climbs[d256]", "-q")


def test_the_ladder_is_the_same_on_a_slurm_that_loses_a_node(project, slurm, tmp_path):
    """Its arms at profile `ci`, at the first seeds: the same keys and bytes as at home."""
    at = {"cwd": ROOT, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--seed-budget", "2"]
    environment = slurm.environment()
    environment.pop("REPRO_DATA", None)
    here, far = tmp_path / "here", tmp_path / "far"
    home = [*command, *LADDER, "--store", str(here)]
    done = subprocess.run(home, env=environment, timeout=120, **at)
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    shutil.copytree(here / "engines", far / "engines")
    cluster = [*command, *LADDER, "--store", str(far), *ON_SLURM]
    session = subprocess.Popen(cluster, env=environment, **at)
    project.sessions.append(session)
    project.until(lambda: any((far / "slurm" / "batches").glob("*/report.json")))
    node = next(iter(slurm.jobs().values()))
    slurm.kill(node)
    slurm.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
    text = session.communicate(timeout=120)[0]
    assert session.returncode == pytest.ExitCode.OK, text
    assert entries(far) == entries(here)
    assert len(entries(far)) == 10


def entries(store):
    """Every stored run's identity, result and parameters, by its key."""
    return {
        path.name: {
            file.name: file.read_bytes()
            for file in path.iterdir()
            if file.name not in ("provenance.json", "SHA256SUMS")
        }
        for path in (store / "runs").glob("*/*")
    }
