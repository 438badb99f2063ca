"""A project whose runs fit lines, and a session that has a pool train them."""

import sys
import time
from contextlib import contextmanager
from unittest import mock

from repro.arm import Run
from repro.backends.node import identity_here, train_here
from repro.own.training_run import PassingFiles
from repro.runs.pool import Batch, Ended, Failed, Stored, Trained
from repro.store import Store, run_key

STEPS = 60
PATIENCE_SECONDS = 240

STUDY = '''
"""A line fitted to points; each step leaves a mark, and takes its time while a file says so."""
import os
import signal
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
BREAKS, DIES, ELSEWHERE = -1.0, -2.0, -3.0


def numbers():
    return (data_folder() / "numbers").read_bytes()


@dataclass(frozen=True, kw_only=True)
class Line(Arm):
    study: ClassVar[str] = "line"
    metrics: ClassVar[dict] = {{"slope": Metric("identity")}}
    target: float = 1.0
    data: str = "none"
    recipe: Recipe = Recipe(epochs={steps} // 10, batch=4, lr=0.05)

    def content(self):
        # each process has another one
        return str(os.getpid()) if self.target == ELSEWHERE else sha256(numbers()).hexdigest()

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
        with (MARKS / str(self.run.seed)).open("a") as file:
            file.write(".")
        if (MARKS / "slow").exists():
            time.sleep(0.15)
        if self.run.arm.target == DIES:
            os.write(2, b"about to end ")
            os.kill(os.getpid(), signal.SIGKILL)
        loss = (self.module(x[:, None])[:, 0] - self.run.arm.target * x).square().mean()
        return loss, loss

    def measure(self):
        if self.run.arm.target == BREAKS:
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


class Project:
    """The project, its data, and the marks that its runs leave."""

    def __init__(self, folder):
        self.folder, self.marks, self.data = folder / "project", folder / "marks", folder / "data"
        for each in (self.folder / "studies", self.marks, self.data):
            each.mkdir(parents=True)
        (self.data / "numbers").write_bytes(bytes(range(200)))
        text = STUDY.format(marks=self.marks, steps=STEPS)
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

    def batches(self, seeds, *, targets=(1.0,), width=1):
        """All runs of lines with these targets and seeds, in batches of one engine."""
        from line import Line

        runs = [Run(Line(target=target), seed) for seed in seeds for target in targets]
        found = []
        for first in range(0, len(runs), width):
            of = Batch(first, runs[first : first + width], [], "loop")
            keys = [run_key(identity_here(run, of, "cpu")) for run in of.runs]
            found.append(Batch(first, of.runs, keys, "loop"))
        return found

    @contextmanager
    def slowly(self):
        """Runs take nine seconds here, for something to happen to them."""
        (self.marks / "slow").touch()
        yield
        (self.marks / "slow").unlink(missing_ok=True)

    def steps(self, seed):
        """The steps that runs of a seed have taken."""
        mark = self.marks / str(seed)
        return mark.stat().st_size if mark.exists() else 0

    def trained_here(self, folder, batches):
        """A store of the same runs, trained by this process."""
        session = Session(Store(folder), None, batches)
        for batch in batches:
            for event in train_here(batch, device="cpu", files=_NoCheckpoints()):
                session.take(event)
        return session.store


class _NoCheckpoints(PassingFiles):
    def wants_checkpoint(self):
        return False

    def load_checkpoint(self, run):
        return None

    def save_checkpoint(self, run, payload):
        pass


class Session:
    """What a session does with a pool: submits batches, stores what comes, and waits."""

    def __init__(self, store, pool, batches):
        self.store, self.pool, self.waiting = store, pool, list(batches)
        self.of = {run: batch for batch in batches for run in batch.runs}
        self.done, self.failed, self.under_way = set(), {}, set()

    def take(self, event):
        match event:
            case Trained(run, values, provenance, weights):
                here = identity_here(run, self.of[run], "cpu")
                self.store.put(here, values, provenance, weights=weights)
                self.done.add(run)
            case Stored(run):
                self.done.add(run)
            case Failed(run):
                self.failed[run.arm.target, run.seed] = event
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
    """Every stored run's identity and result, by its key."""
    names = ("identity.json", "result.json")
    found = (store.root / "runs").glob("*/*")
    return {path.name: [(path / name).read_bytes() for name in names] for path in found}
