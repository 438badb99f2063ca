"""A tiny study that trains in milliseconds, in a project of its own."""

import os
import sys
from pathlib import Path

import pytest
import torch

import repro

# Imported once for all the sessions that run in this process; pytester takes away what they import.
import repro.core.train
import repro.plugin.session
import repro.plugin.summary
import repro.report.write
from repro.backends.local import ProcessPool
from tests.local_work import StoringPool

torch.optim.AdamW([torch.zeros(1, requires_grad=True)]).step()  # torch imports more of itself here

STUDY = '''
"""A line fitted to points: the smallest thing that can be trained."""
from dataclasses import dataclass
from typing import ClassVar
import torch
from repro.arm import Arm, Metric
from repro.core.streams import stream
from repro.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class Line(Arm):
    study: ClassVar[str] = "line"
    metrics: ClassVar[dict] = {"slope": Metric("identity")}
    target: float = 1.0
    data: str = "points"
    recipe: Recipe = Recipe(epochs=1, batch=4, lr=0.05)

    def at(self, profile):
        return self

    def content(self):
        return "points"

    @property
    def steps(self):
        return 10

    @property
    def label(self):
        return f"line {self.target}"


class Points:
    examples = 40

    def epoch(self, seed, number):
        return torch.randperm(40, generator=stream(seed, f"order/{number}"))[:, None]

    def batch(self, lines):
        return (lines[..., 0].float() / 40,)


class Model:
    def __init__(self, run):
        self.arm = run.arm
        self.module = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.normal_(self.module.weight, generator=stream(run.seed, "initial"), std=0.1)

    def lr_scales(self):
        return {}

    def loss(self, x):
        loss = (self.module(x[:, None])[:, 0] - self.arm.target * x).square().mean()
        return loss, loss

    def measure(self):
        return {"slope": float(self.module.weight.detach())}


class Study:
    monitor = None

    def load(self, arm, device):
        return Points()

    def reference(self, run, data, device):
        return Model(run)


STUDY = Study()
'''

OUTSIDE_STUDY = '''
"""The same of a function, which only those that train need torch for: for many processes."""
import random
import time
from dataclasses import dataclass
from typing import ClassVar
from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy


@dataclass(frozen=True, kw_only=True)
class Line(OutsideArm):
    study: ClassVar[str] = "line"
    metrics: ClassVar[dict] = {"slope": Metric("identity")}
    target: float = 1.0
    data: str = "points"

    @property
    def work(self):
        return 1e8 * self.target


def train(arm, seed):
    time.sleep(0)  # longer where somebody has to see it train
    return {"slope": arm.target * random.gauss(0.4, 0.3)}  # settled at the second look


STUDY = OutsideStudy(train)
'''

CLAIMS = """
import pytest
from repro import claim
from line import Line

@claim("steeper targets give steeper lines", source="900, Text", documented="of course")
@pytest.mark.parametrize("low", [1.0, 2.0])
def test_steeper(trials, low):
    steep, flat = trials(Line(target=low + 3), Line(target=low))
    assert steep.slope > flat.slope

@claim("flat targets give steeper lines", source="900, Text")
def test_flatter(trials):
    steep, flat = trials(Line(target=4.0), Line(target=1.0))
    assert flat.slope > steep.slope

@claim("only at the documented size", source="900, Text", only_at="paper")
def test_large(trials):
    assert trials(Line()).slope > 0
"""


def trains_here_if_alone(store, *, device, trainers, project):
    """A pool of trainers; this process in place of a single one, which takes less time."""
    if trainers != 1:
        return ProcessPool(store, device=device, project=project, trainers=trainers)
    return StoringPool(store, device=device, project=project)


@pytest.fixture
def project(pytester, monkeypatch):
    """Two claims that hold, one that does not, and one that needs another profile."""
    pytester.makepyfile(line=STUDY, test_lines=CLAIMS)
    # pytest 8 takes a file changed within a second for what it was, where it wrote bytecode
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr("repro.backends.local.ProcessPool", trains_here_if_alone)
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    checkout = Path(repro.__file__).parents[1]  # what is tested here is tested in processes too
    monkeypatch.setenv("PYTHONPATH", f"{pytester.path}{os.pathsep}{checkout}")
    # what else is installed here takes a third of the time in which a session starts
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "repro.plugin.plugin,xdist.plugin")
    # at its end pytest looks for garbage five times, among all that this process holds
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:unraisableexception -p no:threadexception")
    return pytester


@pytest.fixture
def outside_project(project):
    """The same, of a function instead of a model."""
    project.makepyfile(line=OUTSIDE_STUDY)
    return project
