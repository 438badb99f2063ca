"""A pool that trains nothing, arms whose runs cost what their settings say, and claims on them."""

from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Run
from repro.own.arm import OwnArm
from repro.recipe import Recipe
from repro.runs.plan import Plan
from repro.runs.pool import Ended, Job, Pool, Stored
from repro.runs.results import RunsMissing
from tests.local_work import LocalWork, put


@dataclass(frozen=True, kw_only=True)
class Steps(OwnArm):
    """An arm of as many steps as it says, which can be stacked if it says so."""

    study: ClassVar[str] = "steps"
    data: str = "none"
    count: int = 10
    together: bool = False
    size: float = 1.0
    recipe: Recipe = Recipe(epochs=1, batch=1, lr=1.0)

    @property
    def steps(self):
        return self.count

    @property
    def effort(self):
        return self.size

    def stacks_on(self, device):
        return self.together


@dataclass(frozen=True, kw_only=True)
class Base(Steps):
    keeps_weights: ClassVar[bool] = True
    count: int = 1000


@dataclass(frozen=True, kw_only=True)
class Tuned(Steps):
    """An arm whose runs start from the parameters of one of another."""

    @property
    def starts_from(self):
        return BASE


BASE = Run(Base(), 7)


class FakePool(Pool):
    """It stores the seeds of runs; `outcome` yields those of a batch, or other events."""

    seconds = 0.0
    """What a run is said to have taken."""

    def __init__(self, trainers=1, outcome=lambda batch: batch.runs, last=()):
        super().__init__("cpu", trainers)
        self.outcome, self.last = outcome, last
        self.submitted, self.store = [], None

    @property
    def seeds(self):
        """The seeds of each batch that was submitted."""
        return [[run.seed for run in batch.runs] for batch in self.submitted]

    def submit(self, batch):
        self.submitted.append(batch)
        self._jobs[Job(batch)] = None

    def events(self, seconds):
        while self._jobs:
            job = next(iter(self._jobs))
            batch = job.batch
            for event in self.outcome(batch):
                yield self.put(event, batch) if isinstance(event, Run) else event
            del self._jobs[job]
            yield Ended(batch.number)

    def stop(self):
        for run in self.last:
            self.put(run, next(iter(self._jobs)).batch)
        self._jobs.clear()

    def put(self, run, batch):
        """Store the result of a run, as its trainer would."""
        values = {"measures": {"seed": run.seed}}
        how = {**batch.origin, "seconds": self.seconds}
        return Stored(run, put(self.store, run, batch.runs[run], values, how))


def reading(results, *runs):
    """The reading of a claim on some runs."""

    def read():
        if missing := [run for run in runs if not results.is_done(run)]:
            raise RunsMissing(missing)

    return read


def session(folder, pool, *claims):
    """A session with some claims: its work, and its plan."""
    work = LocalWork(folder, pool=pool)
    readings = {n: reading(work.results, *runs) for n, runs in enumerate(claims)}
    return work, Plan(readings, is_done=work.results.is_done)


def trained(folder, pool, *claims):
    """Train all that some claims miss, one claim after another; return the work."""
    work, plan = session(folder, pool, *claims)
    plan.read_all()
    for claim in range(len(claims)):
        plan.want(plan.take(claim))
        for _ in range(100):
            if plan.wanted:
                work.training._advance(plan, 0.0)
        assert not plan.wanted, f"the claim {claim} waits for ever"
    return work
