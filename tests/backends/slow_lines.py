"""A project with claims about slow lines, and sessions on it from a cluster."""

import hashlib
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import torch

STEPS = 120
SLOW = 0.1
"""Seconds a step takes where a session is to be disturbed: it is saved three times a second."""

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
from repro.core import train
from repro.core.streams import stream
from repro.data.locate import data_folder
from repro.recipe import Recipe

train.training.__kwdefaults__["save_seconds"] = 0.3
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
            # every node has its own, and every job of Slurm
            return os.environ.get("SLURM_JOB_ID", os.environ["XDG_CACHE_HOME"])
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
from repro import claim
from line import Line

@claim("steeper targets give steeper lines", source="900, Text")
def test_steeper(trials):
    steep, flat = trials(Line(target=7.0), Line(target=1.0))
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

    @contextmanager
    def for_one_test(self):
        """The project as no test has changed it; sessions of a test that failed are ended."""
        for mark in self.marks.iterdir():
            mark.unlink()
        yield self
        for session in self.sessions:
            session.kill()
            session.communicate()
        self.sessions.clear()

    def session(self, store, *options):
        """A session that has begun."""
        # a shell ignores Ctrl-C in what it starts in the background, and that is inherited
        command = ["env", "--default-signal=INT", sys.executable, "-m", "pytest"]
        command += ["-p", "no:cacheprovider", "--store"]
        session = subprocess.Popen(
            self.cluster.command(*command, str(self.folder / store), *options),
            cwd=self.folder / "project",
            env={**self.cluster.environment(), "REPRO_DATA": str(self.folder / "data")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.sessions.append(session)
        return session

    def run(self, store, *options):
        """What a session on this machine printed."""
        return text_of(self.session(store, *options))

    def far(self, store, *options):
        """A session on the cluster that has begun; its store knows the programs' speeds."""
        if not (self.folder / store).exists():
            self._tell_speeds(store)
        return self.session(store, "--executor", self.cluster.executor, *options)

    def _tell_speeds(self, store, *, seconds=1.0):
        """Begin a store whose programs take so long a step, by what it says: a job for each run."""
        shutil.copytree(self.folder / "here" / "engines", self.folder / store / "engines")
        for path in (self.folder / store / "engines").iterdir():
            speed = {**json.loads(path.read_text())["speed"], "seconds": seconds}
            sums = hashlib.sha256(json.dumps(speed, sort_keys=True).encode()).hexdigest()
            path.write_text(json.dumps({"speed": speed, "sha256": sums}))

    def entries(self, store):
        """Every stored run's identity and result, by its key."""
        names = ("identity.json", "result.json")
        found = (self.folder / store / "runs").glob("*/*")
        return {path.name: [(path / name).read_bytes() for name in names] for path in found}

    def seed_of(self, key):
        """The seed of a run that this machine has trained."""
        return json.loads(self.entries("here")[key][0])["identity"]["seed"]

    def steps(self):
        """Steps taken so far, by seed; seed 0 is the timing's."""
        return {path.name: path.stat().st_size for path in self.marks.glob("[1-9]*")}

    def checkpoints(self, store):
        """The step of each checkpoint in a store, by seed."""
        found = {}
        for path in (self.folder / store / "checkpoints").glob("*/*"):
            with suppress(FileNotFoundError):  # it is over
                content = io.BytesIO(path.read_bytes()[32:])
                saved = torch.load(content, weights_only=True)
                found[str(self.seed_of(path.name))] = saved["step"]
        return found

    def saved(self, store):
        """The step of each checkpoint, by seed, in the store or where nodes leave it for that."""
        return self.checkpoints(store) | self.checkpoints(f"{store}/slurm/results")

    def until(self, true, seconds=240):
        """Wait for something that a session does."""
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline
            session = self.sessions[-1]
            assert session.poll() is None, session.communicate()[0]
            time.sleep(0.1)

    def until_still(self, seconds=240):
        """Wait until nothing trains any more: ten steps' time goes by without one."""
        deadline = time.monotonic() + seconds
        taken, since = self.steps(), time.monotonic()
        while time.monotonic() < since + 10 * SLOW:
            assert time.monotonic() < deadline
            time.sleep(SLOW)
            if self.steps() != taken:
                taken, since = self.steps(), time.monotonic()


def text_of(session, *, seconds=240):
    """What a session printed by its end; one that does not end says where it is."""
    try:
        return session.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        session.send_signal(signal.SIGABRT)
        raise AssertionError(session.communicate(timeout=seconds)[0]) from None


def trained(text):
    """The number of runs that a session says it has trained."""
    found = re.search(r"(\d+) trained now", text)
    assert found, text
    return int(found.group(1))
