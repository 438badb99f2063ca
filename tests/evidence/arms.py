"""An arm whose runs are made up, and lines of evidence about them."""

from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Arm, Metric, Run
from repro.evidence.file import record_of
from repro.recipe import Recipe
from repro.runs.identity import name_of_type, settings_of
from repro.store import Made, Result, run_key
from repro.store.key import digest_of, plain
from repro.store.run_files import key_of
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
HOW = {"machine": "a chip", "packages": {"torch": "2.9"}, "seconds": 1.5, "engine": "loop"}

HOLDS, GONE = {"missing": ["no_such"]}, {"modules": {"no_such": {"train()": "1"}}}
"""A trace that always holds, and one that never does."""


def trace_line(trace):
    return {"kind": "trace", "trace": digest_of(trace), "content": trace}


TODAY, OLD = trace_line(HOLDS), trace_line(GONE)
CODE = {"kind": "code", "code": "c0de", "definitions": {"no_such.train": "1"}}
"""The code of runs of format 3."""


def identity_of(run, **other):
    """Return an identity as it is stored."""
    where = {"class": name_of_type(type(run.arm)), "device": "cpu", "torch": "2.9"}
    arm = plain(run.arm.given(), "arm")
    return {"arm": arm, "seed": run.seed, "data": "points", **where, **other}


def result_of(run, *, trace=HOLDS, identity=None, settings=None, **how):
    """Return a result as it is stored."""
    identity = identity or identity_of(run)
    made = Made(settings_of(run.arm) if settings is None else settings, digest_of(trace))
    return Result(key_of(identity, made), identity, values_of(run), {**HOW, **how}, made=made)


def values_of(run):
    """Return values as training gives them: three epochs, of which two are measured."""
    history = {"loss": [0.5, 0.4, 0.3], "slope": [0.1, 0.25 * run.seed]}
    return {"measures": {"slope": 0.25 * run.seed}, "history": history, "steps": 30}


def head(runs, **other):
    fields = {"name": "repro evidence", "format": 4, "profile": "ci", "claims": ["900/rises"]}
    return {"kind": "head", **fields, "runs": runs, **other}


def line(run=RUN, *, trace=HOLDS, identity=None, settings=None, **changes):
    """Return the line of a run, with other members."""
    result = result_of(run, trace=trace, identity=identity, settings=settings)
    return {**record_of(run, result).line, **changes}


def former(run=RUN, **changes):
    """Return the line of a run as format 3 has it."""
    identity = {name: x for name, x in identity_of(run).items() if name != "class"}
    found = line(run, identity=identity | {"code": "c0de"}) | changes
    del found["made"], found["content"]
    return found | {"key": run_key(found["identity"])}


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
