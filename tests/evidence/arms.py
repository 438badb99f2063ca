"""An arm whose runs are made up."""

from dataclasses import dataclass
from typing import ClassVar

from repro.arm import Arm, Metric, Run
from repro.recipe import Recipe
from repro.store.key import plain


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


def identity_of(run):
    """Return an identity as it is stored, of made-up code."""
    where = {"code": "c0de", "engine": "loop", "device": "cpu", "torch": "2.9"}
    return {"arm": plain(run.arm.settings(), "arm"), "seed": run.seed, "data": "points", **where}


def values_of(run):
    """Return values as training gives them: three epochs, of which two are measured."""
    history = {"loss": [0.5, 0.4, 0.3], "slope": [0.1, 0.25 * run.seed]}
    return {"measures": {"slope": 0.25 * run.seed}, "history": history, "steps": 30}
