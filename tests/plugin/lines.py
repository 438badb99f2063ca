"""Arms of lines without a session: the results of their runs, and tests of claims about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from repro.arm import Arm, Metric
from repro.plugin.trials import Trials
from repro.recipe import Recipe
from repro.runs.profiles import Profile
from tests.plugin.sessions import Made

RECIPE = Recipe(epochs=5, batch=1, lr=1.0, measure_every=2)


@dataclass(frozen=True, kw_only=True)
class Reader(Arm):
    study: ClassVar[str] = "none"
    metrics: ClassVar[dict] = {
        "perplexity": Metric("log"),
        "alignment": Metric("identity", listed=True),
    }
    data: str = "none"
    recipe: Recipe = RECIPE

    def at(self, profile):
        return self


@dataclass(frozen=True, kw_only=True)
class Line(Reader):
    """An arm whose slope is its target, give or take."""

    metrics: ClassVar[dict] = {
        "slope": Metric("identity"),
        "right": Metric("log-odds", examples=9),
        "weights": Metric("log", exact=True),
    }
    target: float = 1.0
    data: str = "points"

    @property
    def label(self):
        return f"line {self.target}"


@dataclass(frozen=True, kw_only=True)
class OfOtherSeeds(Line):
    documented_seeds: ClassVar[tuple] = (42,)


def stored(by_seed):
    """Results of every line, and of readers with these seeds."""
    return Made(lambda run: line_of(run) if isinstance(run.arm, Line) else by_seed.get(run.seed))


def line_of(run):
    noise = np.random.default_rng([run.seed, int(run.arm.target)]).normal(0, 0.3)
    return {"measures": {"slope": run.arm.target + noise, "right": 0.5, "weights": 25_450}}


WORDS = {"Line": Line, "OfOtherSeeds": OfOtherSeeds}
WORDS |= {"np": np, "Path": Path, "pytest": pytest}
SLOPES = "hi, lo = (t.slope for t in trials(Line(target=4.0), Line(target=1.0)))"
TWO = "a, b = trials(Line(), Line(target=2.0))"


def ended(*lines, **options):
    """Return what a claim's test of these lines raised, and the trials that it took."""
    trials = Trials(stored({}), Profile("ci", (5,)), {}, **options)
    try:
        exec("\n".join(lines), {"trials": trials, **WORDS})
    except (Exception, pytest.skip.Exception, pytest.xfail.Exception) as raised:
        return raised, trials
    return None, trials
