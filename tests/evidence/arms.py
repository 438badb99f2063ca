"""An arm whose runs are made up, and lines of evidence about them."""

from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Arm, Metric, Run
from repro.evidence.file import record_of
from repro.recipe import Recipe
from repro.store import Result, run_key
from repro.store.key import plain
from tests.evidence.packs import compressed


@dataclass(frozen=True, kw_only=True)
class Slope(Arm):
    study: ClassVar[str] = "tests.evidence.arms"
    metrics: ClassVar[dict[str, Metric]] = {"slope": Metric("identity")}
    width: int = 8
    data: str = "points"
    recipe: Recipe = Recipe(epochs=3, batch=4, lr=0.1, measure_every=2)

    def at_ci(self):
        return self

    def content(self):
        return "points"

    @property
    def steps(self):
        return 30


STUDY = None
SEEDS = [Run(Slope(), seed) for seed in (1, 2, 3)]
RUN = SEEDS[0]
CODE = {"kind": "code", "code": "c0de", "definitions": {"line.train": "1"}}
MADE = {"machine": "a chip", "packages": {"torch": "2.9"}, "seconds": 1.5, "engine": "loop"}


def identity_of(run, code="c0de"):
    """Return an identity as it is stored, of made-up code."""
    where = {"code": code, "device": "cpu", "torch": "2.9"}
    return {"arm": plain(run.arm.given(), "arm"), "seed": run.seed, "data": "points", **where}


def values_of(run):
    """Return values as training gives them: three epochs, of which two are measured."""
    history = {"loss": [0.5, 0.4, 0.3], "slope": [0.1, 0.25 * run.seed]}
    return {"measures": {"slope": 0.25 * run.seed}, "history": history, "steps": 30}


def head(runs, **other):
    fields = {"name": "repro evidence", "format": 3, "profile": "ci", "claims": ["900/rises"]}
    return {"kind": "head", **fields, "runs": runs, **other}


def line(run=RUN, **changes):
    """Return the line of a run, with other members."""
    identity = changes.pop("identity", identity_of(run))
    result = Result(run_key(identity), identity, values_of(run), MADE)
    return {**record_of(run, result).line, **changes}


def file_of(folder, *lines, runs=None, name="evidence.jsonl.gz"):
    path = folder / name
    runs = sum(each.get("kind") == "run" for each in lines) if runs is None else runs
    path.write_bytes(compressed([head(runs), *lines]))
    return path


def again(others, trained):
    """What trains runs to the same values as before, or to others, or raises these."""

    class Fake:
        def __init__(self, engines, *, device):
            assert device == "cpu"

        def values(self, run):
            trained.append(run)
            values = others.get(run, values_of(run))
            if isinstance(values, Exception):
                raise values
            return values

    return Fake
