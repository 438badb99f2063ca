"""Work on this machine without pytest around it: a store, a backend, and runs to be trained."""

from pathlib import Path

import torch._dynamo  # noqa: F401  # as the first optimiser does: a second that is no test's own

from repro.backends.local import LocalBackend
from repro.runs.plan import Plan, RunsMissing
from repro.runs.work import Work
from repro.store import Store


class Trains:
    """One process of a session: it trains by its `work`, and reads `results`."""

    def train(self, runs, show=lambda status: None):
        """Train these runs, or say why not; itself again."""

        def read():
            if missing := [run for run in runs if not self.results.is_settled(run)]:
                raise RunsMissing(missing)

        plan = Plan([read], is_settled=self.results.is_settled, asked=set(runs))
        self.work.train(plan, show)
        return self


class LocalWork(Trains):
    """What one process of a session has, over a store in a folder."""

    def __init__(
        self, folder, *, engine="auto", same_machine=False, session=None, processes=1, **options
    ):
        self.store = Store(folder, **options)
        backend = LocalBackend(self.store, device="cpu", processes=processes, session=session)
        self.work = Work(
            self.store, backend, engine=engine, project=Path(__file__).parent,
            same_machine=same_machine,
        )  # fmt: skip
        self.engines, self.results = self.work.engines, self.work.results
        self.forecast = self.work.forecast

    def values(self, run):
        """The values of a stored run; None where there is none."""
        result = self.results.get(run)
        return None if result is None else result.values
