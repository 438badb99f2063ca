"""A project whose runs fit lines, and a session that has a pool train them."""

import sys
import time
from contextlib import contextmanager
from unittest import mock

from repro.arm import Run
from repro.recipe import Recipe
from repro.runs.identity import identity
from repro.runs.pool import Batch, Ended, Failed, Stored
from repro.store import Store
from tests.local_work import StoringPool

LONG = 6
"""Epochs of a run that is saved on its way: ten steps each, of 0.15 s where they are slow."""

PATIENCE_SECONDS = 240

STUDY = '''
"""A line fitted to points; each step leaves a mark, and takes its time while a file says so."""
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import torch
from repro.arm import Metric
from repro.data.locate import data_folder
from repro.own.arm import ModuleArm
from repro.own.module import ModuleStudy
from repro.recipe import Recipe

MARKS = Path("{marks}")
BREAKS, DIES, ELSEWHERE = -1.0, -2.0, -3.0


@dataclass(frozen=True, kw_only=True)
class Line(ModuleArm):
    study: ClassVar[str] = "line"
    metrics: ClassVar[dict] = {{"slope": Metric("identity")}}
    target: float = 1.0
    data: str = "numbers"
    examples: int = 40
    recipe: Recipe = Recipe(epochs=1, batch=4, lr=0.05)

    def content(self):
        if self.target == ELSEWHERE:  # each process has another one
            return str(os.getpid())
        return (data_folder() / "numbers").read_text()


def examples(arm):
    return (torch.tensor([float(x) for x in arm.content().split()])[:, None],)


def loss(module, arm, x):
    with (MARKS / f"{{arm.target}}-{{os.getpid()}}").open("a") as file:
        file.write(".")
    if (MARKS / "slow").exists():
        time.sleep(0.15)
    if arm.target == DIES:
        os.write(2, b"about to end ")
        os.kill(os.getpid(), signal.SIGKILL)
    return (module(x) - arm.target * x).square().mean()


def measure(module, arm):
    if arm.target == BREAKS:
        raise ZeroDivisionError("no slope today")
    return {{"slope": float(module.weight.detach())}}


STUDY = ModuleStudy(
    module=lambda arm: torch.nn.Linear(1, 1, bias=False),
    examples=examples,
    loss=loss,
    measure=measure,
)
'''


class Project:
    """The project, its data, and the marks that its runs leave."""

    def __init__(self, folder):
        self.folder, self.marks, self.data = folder / "project", folder / "marks", folder / "data"
        for each in (self.folder / "studies", self.marks, self.data):
            each.mkdir(parents=True)
        (self.data / "numbers").write_text(" ".join(f"{n / 40}" for n in range(40)))
        text = STUDY.format(marks=self.marks)
        (self.folder / "studies" / "line.py").write_text(text)

    def clean(self):
        """Take all marks away."""
        for mark in self.marks.iterdir():
            mark.unlink()

    @contextmanager
    def entered(self, environment):
        """This process as one of a session on the project."""
        path = [str(self.folder / "studies"), *sys.path]
        variables = {**environment, "REPRO_DATA": str(self.data)}
        with mock.patch.object(sys, "path", path), mock.patch.dict("os.environ", variables):
            yield self
        sys.modules.pop("line", None)

    def batches(self, seeds, *, targets=(1.0,), width=1, epochs=1):
        """All runs of lines with these targets and seeds, in batches of one engine."""
        from line import Line

        recipe = Recipe(epochs=epochs, batch=4, lr=0.05)
        arms = [Line(target=target, recipe=recipe) for target in targets]
        runs = [Run(arm, seed) for seed in seeds for arm in arms]
        found = []
        for first in range(0, len(runs), width):
            of = runs[first : first + width]
            found.append(Batch(first, {run: identity(run, device="cpu") for run in of}, "loop"))
        return found

    @contextmanager
    def slowly(self):
        """Runs take long here, for something to happen to them."""
        (self.marks / "slow").touch()
        yield
        (self.marks / "slow").unlink(missing_ok=True)

    def steps(self, target=1.0):
        """The steps that lines with a target have taken, in each process that trained some."""
        return [mark.stat().st_size for mark in self.marks.glob(f"{target}-*")]

    def trained_here(self, folder, batches):
        """A store of the same runs, trained by this process."""
        store = Store(folder)
        pool = StoringPool(store, device="cpu", project=self.folder)
        return Session(store, pool, batches).finish().store


class Session:
    """What a session does with a pool: submits batches, stores what comes, and waits."""

    def __init__(self, store, pool, batches):
        self.store, self.pool, self.waiting = store, pool, list(batches)
        self.done, self.failed, self.under_way = set(), {}, set()

    def take(self, event):
        match event:
            case Stored(run):
                self.done.add(run)
            case Failed(run):
                self.failed[run] = event
            case Ended(number):
                self.under_way.remove(number)

    def until(self, true):
        """Go on until something is so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < deadline, (len(self.done), self.failed)
            while self.waiting and self.pool.room() > 0:
                batch = self.waiting.pop(0)
                self.pool.submit(batch)
                self.under_way.add(batch.number)
            for event in self.pool.events(0.2):
                self.take(event)

    def finish(self):
        """Go on until nothing is left."""
        self.until(lambda: not (self.waiting or self.under_way))
        return self


def entries(store):
    """Every stored run's result, by its address."""
    found = (store.root / "runs").glob("*/*/*/result.json")
    return {path.parents[1].name: path.read_bytes() for path in found}


def train_200_runs_and_lose_a_node(cluster, project, folder, pool):
    """Hold 200 runs over two nodes, one of which is lost, against those of this machine."""
    batches = project.batches(range(1, 101), targets=(1.0, 7.0), width=50)
    session = Session(Store(folder / "far"), None, batches)
    session.pool = pool(session.store)
    with project.slowly():
        session.until(lambda: len(project.steps()) == 2 and min(project.steps()) > 9)
        cluster.lose_a_node()
    session.finish()
    session.pool.stop()
    assert session.failed == {}
    assert len(entries(session.store)) == 200
    assert entries(session.store) == entries(project.trained_here(folder / "here", batches))
