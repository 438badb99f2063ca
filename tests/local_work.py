"""Work on this machine without pytest around it: a store, a pool, and runs to be trained."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch._dynamo  # noqa: F401  # as the first optimiser does: a second that is no test's own

from repro.backends.batch_files import StoreFiles, stored
from repro.backends.local import InProcessPool
from repro.backends.trainer import train_batch
from repro.code.trace import Today, counted
from repro.runs.identity import arms_of, settings_of
from repro.runs.plan import Plan
from repro.runs.pool import Ended, Trained
from repro.runs.results import Results
from repro.runs.training import Training
from repro.store import Made, Store, run_files, run_key

PROJECT = Path(__file__).parent


class StoringPool(InProcessPool):
    """Trains in this process, and stores checkpoints and results, as trainers do.

    This process keeps no record: the traces have all code of the project that it has imported.
    """

    def _train(self, job):
        files = StoreFiles(
            self._store,
            job.batch,
            show=partial(self.show, job.batch.number),
            devices={},
        )
        options = {"engine": job.batch.engine, "device": self.device, "shows": self._shows}
        for event in train_batch(list(job.batch.runs), files=files, **options):
            if isinstance(event, Trained):
                made = trace_of(self._project, arms_of(event.run.arm))
                event = replace(event, trace=made)
            yield stored(event, job.batch, self._store)
        yield Ended(job.batch.number)


def trace_of(project, arms):
    """Return a trace with the modules of a project that this process has imported, but tests."""
    modules, today = {}, Today(project)
    for name, module in list(sys.modules.items()) if project != PROJECT else ():
        path = Path(getattr(module, "__file__", None) or "/")
        if path.is_relative_to(project) and not name.startswith("test_"):
            modules[name] = today.source(str(path))
    return {"arms": arms, "modules": counted(modules, {}, arms)}


def put(store, run, identity, values, provenance=None, **more):
    """Store a result of a run as its trainer would, with a trace that holds; return its key."""
    made = Made(settings_of(run.arm), store.put_trace({"arms": []}))
    return store.put(identity, values, provenance or {}, made=made, **more)


def put_former(store, identity, values, provenance):
    """Store a result as earlier versions did: without what made it; return its key."""
    key = run_key(identity)
    files = run_files.encode(identity, values, provenance)
    files["identity.json"] = run_files.readable({"format": 1, "identity": identity})
    files["SHA256SUMS"] = run_files._sums({name: files[name] for name in run_files._CONTENT})
    folder = store.root / "runs" / key[:2] / key
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return key


class LocalWork:
    """The training of one session in this process, over a store in a folder."""

    def __init__(self, folder, *, engine="auto", pool=None, **options):
        self.store = Store(folder, **options)
        self.pool = pool or StoringPool(self.store, device="cpu", project=PROJECT)
        self.pool.store = self.store
        self.results = Results(self.store, device="cpu", project=PROJECT)
        self.training = Training(
            self.store, self.pool, self.results, engine=engine, project=PROJECT
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

    def put(self, run, values, **more):
        """Store a result of a run."""
        return put(self.store, run, self.results.identity(run), values, **more)

    def values(self, run):
        """The values of a stored run; None where there is none."""
        result = self.results.get(run)
        return None if result is None else result.values
