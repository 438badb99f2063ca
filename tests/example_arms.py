"""The arms of the examples in docs/words.md, and all names that such an example can use."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import repro.document
import repro.judge
from repro.arm import Arm, Metric
from repro.marks import claim, figure
from repro.own.arm import ModuleArm, OutsideArm
from repro.own.module import ModuleStudy
from repro.own.outside import OutsideStudy
from repro.plugin.plot import Plot
from repro.plugin.trials import Trials
from repro.recipe import Recipe
from repro.recorded import decide, judge, recorded
from repro.runs.profiles import PROFILES
from tests.plugin.sessions import Made

PAGE = (Path(__file__).parents[1] / "docs" / "words.md").read_text()
ROW = re.compile(r"^\| `([A-Z]+)` \|(.*)\|(.*)\|(.*)\| (\d+) \|$", re.MULTILINE)
SPREADS = {
    metric: float(spread)
    for spread, metric in re.findall(r"([\d.]+) in (accuracy|perplexity|loss)", PAGE)
}
DEPTHS = {"SHALLOW": 1, "MEDIUM": 2, "DEEP": 4}


@dataclass(frozen=True, kw_only=True)
class Network(Arm):
    study: ClassVar[str] = "networks"
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("log-odds", examples=10_000),
        "perplexity": Metric("log"),
        "parameters": Metric("identity", exact=True),
    }
    depth: int = 4
    kind: str = ""
    data: str = "digits"
    recipe: Recipe = Recipe(epochs=3, batch=10, lr=1e-3)

    def at_ci(self):
        return self

    def content(self):
        return self.data

    @property
    def steps(self):
        return 300

    @property
    def label(self):
        return next(name.lower() for name, arm in ARMS.items() if arm == self)


ARMS = {
    name: Network(depth=DEPTHS.get(name, 4), kind="" if name in DEPTHS else name.lower())
    for name, *_ in ROW.findall(PAGE)
}


def numbers(cell):
    return np.array([float(number) for number in re.findall(r"[\d.]+", cell)])


def drawn(metric, name, seed, *, epochs=None):
    """Return the noise that a seed adds to a metric of an arm."""
    stream = np.random.default_rng([seed, *map(ord, name), len(metric)])
    return SPREADS[metric] * stream.standard_normal(epochs)


@dataclass(frozen=True, kw_only=True)
class Sort(OutsideArm):
    study: ClassVar[str] = "sorting"
    pivot: str = "middle"
    data: str = "shuffled numbers"


def values_of(name, seed):
    """Return the values of a run, as the row of its arm says them."""
    accuracies, perplexities, losses, parameters = next(
        row[1:] for row in ROW.findall(PAGE) if row[0] == name
    )
    usual, *otherwise = numbers(accuracies)
    mean = otherwise[0] if otherwise and seed == int(otherwise[1]) else usual
    accuracy = mean + drawn("accuracy", name, seed)
    history = {
        "perplexity": list(numbers(perplexities) + drawn("perplexity", name, seed, epochs=3)),
        "loss": list(numbers(losses) + drawn("loss", name, seed, epochs=3)),
        "accuracy": [accuracy * share for share in (0.8, 0.9, 1.0)],
    }
    measures = {
        "accuracy": accuracy,
        "perplexity": history["perplexity"][-1],
        "parameters": int(parameters),
    }
    return {"measures": measures, "history": history, "steps": 300}


TOLD = Made(lambda run: values_of(run.arm.label.upper(), run.seed))
"""The results of the example arms, for claims to read."""


def trials():
    return Trials(TOLD, PROFILES["ci"], {})


def plot():
    mark = pytest.mark.figure("Accuracy by depth", source="Ours", x="blocks", y="accuracy").mark
    item = SimpleNamespace(get_closest_marker=lambda name: mark, name="test_figure")
    return Plot(item, TOLD, PROFILES["ci"])


FIXTURES = {"trials": trials, "plot": plot, "document": repro.document.Document}


def scope():
    """Return the names that an example can use; the fixtures are new."""
    kinds = [Arm, Metric, Recipe, ModuleArm, OutsideArm, ModuleStudy, OutsideStudy]
    return {
        **{name: getattr(repro.judge, name) for name in repro.judge.__all__},
        **{name: getattr(repro.document, name) for name in repro.document.__all__},
        **{kind.__name__: kind for kind in kinds},
        "ClassVar": ClassVar,
        "Sort": Sort,
        "claim": claim,
        "dataclass": dataclass,
        "figure": figure,
        "decide": decide,
        "judge": judge,
        "np": np,
        "recorded": recorded,
        **ARMS,
        **{name: made() for name, made in FIXTURES.items()},
    }
