"""Work on this machine without pytest around it: a store, a pool, and runs to be trained."""

from pathlib import Path

import torch._dynamo  # noqa: F401  # as the first optimiser does: a second that is no test's own

from repro.backends.local import InProcessPool
from repro.runs.plan import Plan
from repro.runs.results import Results
from repro.runs.training import Training
from repro.store import Store


class LocalWork:
    """The training of one session in this process, over a store in a folder."""

    def __init__(self, folder, *, engine="auto", pool=None, **options):
        self.store = Store(folder, **options)
        self.pool = pool or InProcessPool(self.store, device="cpu")
        self.pool.store = self.store
        self.results = Results(self.store, device="cpu")
        self.training = Training(
            self.store, self.pool, self.results, engine=engine, project=Path(__file__).parent
        )

    def train(self, runs, show=lambda status: None):
        """Train these runs, or say why not; itself again."""
        plan = Plan({}, is_done=self.results.is_done)
        plan.want(runs)
        self.training.show = show
        try:
            self.training.train(plan, seconds=0.1)
        finally:
            self.training.stop()
        return self

    def values(self, run):
        """The values of a stored run; None where there is none."""
        result = self.results.get(run)
        return None if result is None else result.values
