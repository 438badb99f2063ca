"""Sessions on a real Ray cluster: a head and two worker nodes, with raylets of their own."""

import io
import json
import re
import signal
import subprocess
import sys
import time

import pytest
import torch
from ray_cluster import Cluster

# Imported once for the sessions that run in this process; pytester takes away what they import.
import repro.backends.choose
import repro.plugin.session
import repro.report.write  # noqa: F401
from tests.oracles import oracle

oracle("ray")
pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("one cluster for all of these tests")]

RUNS, STEPS = 25, 120
SLOW = 0.1
"""Seconds a step takes where a session is to be disturbed: a checkpoint is due after five."""

STUDY = '''
"""A line fitted to points, slowly while a file is there; each step leaves a mark."""
import os
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import ClassVar
import torch
from repro.arm import Arm, Metric
from repro.core.streams import stream
from repro.data.locate import data_folder
from repro.recipe import Recipe

MARKS = Path("{marks}")
BROKEN, ELSEWHERE = -1.0, -2.0


def numbers():
    return (data_folder() / "gpt2-small" / "model.safetensors").read_bytes()


@dataclass(frozen=True, kw_only=True)
class Line(Arm):
    study: ClassVar[str] = "line"
    metrics: ClassVar[dict] = {{"slope": Metric("identity")}}
    target: float = 1.0
    data: str = "gpt2-small"
    recipe: Recipe = Recipe(epochs={steps} // 10, batch=4, lr=0.05)

    def at(self, profile):
        return self

    def content(self):
        if self.target == ELSEWHERE:
            return os.environ["XDG_CACHE_HOME"]  # every node has its own
        return sha256(numbers()).hexdigest()

    @property
    def steps(self):
        return {steps}


class Points:
    def __init__(self):
        self.points = torch.tensor(list(numbers()))[:40] / 256

    def epoch(self, seed, number):
        return torch.randperm(40, generator=stream(seed, f"order/{{number}}"))[:, None]

    def batch(self, lines):
        return (self.points[lines[..., 0]],)


class Model:
    def __init__(self, run):
        self.run = run
        self.module = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.normal_(self.module.weight, generator=stream(run.seed, "initial"), std=0.1)

    def lr_scales(self):
        return {{}}

    def loss(self, x):
        mark = MARKS / str(self.run.seed)
        with mark.open("a") as file:
            file.write(".")
            taken = file.tell()
        while (MARKS / "slow").exists():
            time.sleep({slow})
            if taken < {steps} - 20:  # nobody ends before the other has come as far
                break
        loss = (self.module(x[:, None])[:, 0] - self.run.arm.target * x).square().mean()
        return loss, loss

    def measure(self):
        if self.run.arm.target == BROKEN:
            raise ZeroDivisionError("no slope today")
        return {{"slope": float(self.module.weight.detach())}}


class Study:
    monitor = None

    def load(self, arm, device):
        return Points()

    def reference(self, run, data, device):
        return Model(run)


STUDY = Study()
'''

CLAIMS = """
import pytest
from repro import claim
from line import Line

@claim("steeper targets give steeper lines", source="900, Text")
@pytest.mark.parametrize("low", [1.0, 2.0])
def test_steeper(trials, low):
    steep, flat = trials(Line(target=low + 3), Line(target=low))
    assert steep.slope > flat.slope

@claim("lines rise", source="900, Text")
def test_rises(trials):
    assert trials(Line(target=7.0)).slope > 0
"""

ODD_CLAIMS = """
import pytest
from repro import claim
from line import Line

@claim("odd lines rise", source="900, Text")
@pytest.mark.parametrize("target", [-1.0, -2.0])
def test_odd(trials, target):
    assert trials(Line(target=target)).slope > 0
"""


@pytest.fixture(scope="module")
def machines():
    with Cluster(workers=2) as cluster:
        yield cluster


@pytest.fixture
def cluster(machines):
    """A head and two worker nodes, whatever the last test did to them."""
    machines.revive()
    return machines


class Project:
    """A project with claims, and sessions on them from the cluster's head."""

    def __init__(self, folder, cluster):
        self.folder, self.cluster, self.sessions = folder, cluster, []
        self.marks = folder / "marks"
        self.marks.mkdir()
        text = STUDY.format(marks=self.marks, steps=STEPS, slow=SLOW)
        (folder / "project").mkdir()
        (folder / "project" / "line.py").write_text(text)
        (folder / "project" / "test_lines.py").write_text(CLAIMS)
        (folder / "project" / "odd_lines.py").write_text(ODD_CLAIMS)
        (folder / "project" / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
        self.data = folder / "data" / "gpt2-small" / "model.safetensors"
        self.data.parent.mkdir(parents=True)
        self.data.write_bytes(bytes(range(200)))

    def session(self, store, *options, **environment):
        """A session that has begun."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--store"]
        session = subprocess.Popen(
            self.cluster.command(*command, str(self.folder / store), *options),
            cwd=self.folder / "project",
            env={
                **self.cluster.environment(),
                "REPRO_DATA": str(self.folder / "data"),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.sessions.append(session)
        return session

    def run(self, store, *options, **environment):
        """What a session printed."""
        return self.session(store, *options, **environment).communicate(timeout=120)[0]

    def entries(self, store):
        """Every stored run's identity and result, by its key."""
        names = ("identity.json", "result.json")
        found = (self.folder / store / "runs").glob("*/*")
        return {path.name: [(path / name).read_bytes() for name in names] for path in found}

    def steps(self):
        """Steps taken so far, by seed; seed 0 is the timing's."""
        return {path.name: path.stat().st_size for path in self.marks.glob("[1-9]*")}

    def checkpoints(self, store):
        """The step of each checkpoint, by seed."""
        found = {}
        for path in (self.folder / store / "checkpoints").glob("*/*"):
            seed = json.loads(self.entries("here")[path.name][0])["identity"]["seed"]
            saved = torch.load(io.BytesIO(path.read_bytes()[32:]), weights_only=True)
            found[str(seed)] = saved["step"]
        return found

    def until(self, true, seconds=100):
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline
            session = self.sessions[-1]
            assert session.poll() is None, session.communicate()[0]
            time.sleep(0.1)


@pytest.fixture(scope="module")
def module_project(tmp_path_factory, machines):
    project = Project(tmp_path_factory.mktemp("ray"), machines)
    assert "3 of 3 settled verdicts" in project.run("here")
    return project


@pytest.fixture
def project(module_project, cluster):
    for mark in module_project.marks.iterdir():
        mark.unlink()
    yield module_project
    for session in module_project.sessions:  # of a test that failed
        session.kill()
        session.communicate()
    module_project.sessions.clear()


RISES = ("-k", "rises", "--seed-budget", "2")
"""One arm, two runs: one for each node."""


def trained(text):
    return int(re.search(r"(\d+) trained now", text).group(1))


def test_results_are_those_of_this_machine_under_the_same_keys(project, cluster):
    text = project.run("far", "--executor", "ray")
    assert "3 of 3 settled verdicts" in text, text
    assert trained(text) == RUNS
    assert project.entries("far") == project.entries("here")
    assert len(project.entries("far")) == RUNS
    for worker in cluster.workers:  # data is there once a node, under its hash
        (file,) = (cluster.cache(worker) / "repro" / "cluster" / "files").iterdir()
        assert file.read_bytes() == project.data.read_bytes()
    (made, *_) = (project.folder / "far" / "runs").glob("*/*/provenance.json")
    assert json.loads(made.read_text())["packages"]["torch"] == torch.__version__


def test_who_has_no_token_is_not_let_in(project):
    nothing = str(project.folder / "nothing")
    text = project.run("closed", "--executor", "ray", RAY_AUTH_TOKEN_PATH=nothing)
    assert re.search(
        r"^ERROR: The Ray cluster at .* cannot be joined \(.*token", text, re.MULTILINE
    )
    assert "Traceback" not in text


def test_what_cannot_be_trained_there_fails_its_claim_with_the_reason(project):
    text = project.run("odd", "--executor", "ray", "odd_lines.py")
    assert "failed to train: ZeroDivisionError: no slope today" in text
    assert 'raise ZeroDivisionError("no slope today")' in text  # the author's own line
    assert "would be stored under another key by the node" in text
    assert "in deserialize_and_execute" not in text
    assert "/repro/" not in text
    assert project.entries("odd") == {}


def test_a_killed_node_costs_at_most_what_came_after_the_last_checkpoint(project, cluster):
    (project.marks / "slow").touch()
    session = project.session("killed", "--executor", "ray", *RISES)
    project.until(lambda: len(project.checkpoints("killed")) == 2)
    time.sleep(1.0)
    saved = project.checkpoints("killed")
    cluster.kill(cluster.workers[0])
    lost = [steps - saved[seed] for seed, steps in project.steps().items()]
    (project.marks / "slow").unlink()
    text = session.communicate(timeout=100)[0]
    assert trained(text) == 2, text
    assert len(project.entries("killed")) == 2
    assert project.entries("killed").items() <= project.entries("here").items()
    again = sum(project.steps().values()) - 2 * STEPS
    assert 0 < again <= max(lost) < STEPS / 2 + 10


def test_two_sessions_on_one_store_train_no_run_twice(project):
    both = [project.session("shared", "--executor", "ray") for _ in range(2)]
    texts = [session.communicate(timeout=100)[0] for session in both]
    assert sum(map(trained, texts)) == RUNS, texts
    assert all("3 of 3 settled verdicts" in text for text in texts)
    taken = sum(project.steps().values())
    assert taken == RUNS * STEPS


def test_ctrl_c_stops_what_runs_on_the_nodes(project):
    (project.marks / "slow").touch()
    session = project.session("stopped", "--executor", "ray", *RISES)
    project.until(lambda: len(project.steps()) == 2)
    session.send_signal(signal.SIGINT)
    text = session.communicate(timeout=60)[0]
    assert session.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "the same command goes on from there" in text
    assert "Traceback" not in text
    time.sleep(0.5)
    taken = project.steps()
    time.sleep(1.0)
    assert project.steps() == taken
    assert list((project.folder / "stopped" / "locks").iterdir()) == []


def test_a_lost_head_is_one_sentence_and_the_same_command_goes_on(project, cluster):
    (project.marks / "slow").touch()
    session = project.session("cut", "--executor", "ray", *RISES)
    project.until(lambda: len(project.checkpoints("cut")) == 2)
    saved = project.checkpoints("cut")
    cluster.kill("head")
    text = session.communicate(timeout=60)[0]
    assert session.returncode == pytest.ExitCode.INTERRUPTED, text
    assert f"The Ray cluster at {cluster.address} is lost" in text
    assert "Traceback" not in text
    cluster.revive()
    (project.marks / "slow").unlink()
    before = sum(project.steps().values())
    text = project.run("cut", "--executor", "ray", *RISES)
    assert trained(text) == 2, text
    assert len(project.entries("cut")) == 2
    assert project.entries("cut").items() <= project.entries("here").items()
    assert sum(project.steps().values()) - before == 2 * STEPS - sum(saved.values())


def test_a_lost_head_is_a_sentence_under_xdist_too(project, cluster):
    (project.marks / "slow").touch()
    session = project.session("cut-apart", "--executor", "ray", "-n", "2", *RISES)
    project.until(lambda: len(project.checkpoints("cut-apart")) == 2)
    cluster.kill("head")
    text = session.communicate(timeout=90)[0]
    cluster.revive()
    (project.marks / "slow").unlink()
    assert session.returncode == pytest.ExitCode.TESTS_FAILED, text
    assert f"The Ray cluster at {cluster.address} is lost" in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text


@pytest.mark.parametrize(
    ("options", "address", "sentence"),
    [
        (["--executor", "ray"], "127.0.0.1:9", "Nobody answers at 127.0.0.1:9"),
        (["--executor", "slurm"], "", "There is no executor 'slurm'; choose local, ray"),
        (["--executor", "ray"], "", "set RAY_ADDRESS to HOST:PORT"),
        (["--executor", "ray://nowhere"], "", "is no address of a Ray cluster"),
    ],
)
def test_bad_use_is_one_sentence(options, address, sentence, pytester, monkeypatch):
    pytester.makepyfile(
        test_one="""
        from repro import claim

        @claim("a sentence", source="900, Text")
        def test_one(trials):
            pass
        """
    )
    monkeypatch.setenv("RAY_ADDRESS", address)
    run = pytester.runpytest_subprocess if address else pytester.runpytest_inprocess
    result = run("-p", "no:cacheprovider", *options)
    said = result.stdout.str() + result.stderr.str()
    assert sentence in said
    assert "Traceback" not in said
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_without_ray_the_extra_is_named(pytester, monkeypatch):
    pytester.makeconftest("import sys; sys.modules['ray'] = None")
    test_bad_use_is_one_sentence(
        ["--executor", "ray://127.0.0.1:9"],
        "",
        "pip install 'repro-claims[ray]'",
        pytester,
        monkeypatch,
    )
