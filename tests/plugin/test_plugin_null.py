"""Nothing is there, so nothing may be found: an arm against itself, through the whole pipeline."""

import re

import pytest
from scipy.stats import binom

from repro.judge import Design
from repro.runs.profiles import PROFILES

# Each run trains 50 lines that share nothing, so that a pair of arms carries 50 separate claims.
STUDY = '''
from dataclasses import dataclass
from typing import ClassVar
import torch
from repro.arm import Arm, Metric
from repro.core.streams import stream
from repro.recipe import Recipe

LINES = 50


@dataclass(frozen=True, kw_only=True)
class Same(Arm):
    """The same experiment whatever `copy` is; its seeds are its own."""
    study: ClassVar[str] = "lines"
    metrics: ClassVar[dict] = {"slope": Metric("identity", listed=True)}
    copy: int
    data: str = "points"
    recipe: Recipe = Recipe(epochs=1, batch=4, lr=0.05)

    def at(self, profile):
        return self

    def content(self):
        return "points"

    @property
    def steps(self):
        return 10

    @property
    def label(self):
        return f"copy {self.copy}"


class Points:
    examples = 40

    def epoch(self, seed, number):
        return torch.arange(40)[:, None]

    def batch(self, lines):
        return (lines[..., 0].float() / 40,)


class Model:
    def __init__(self, run):
        seed = 1000 * run.arm.copy + run.seed
        self.noise = stream(seed, "noise")
        self.module = torch.nn.Linear(1, LINES, bias=False)
        torch.nn.init.normal_(self.module.weight, generator=stream(seed, "initial"))

    def lr_scales(self):
        return {}

    def loss(self, x):
        target = x[:, None] + torch.randn(len(x), LINES, generator=self.noise)
        loss = (self.module(x[:, None]) - target).square().sum(1).mean()
        return loss, loss

    def measure(self):
        return {"slope": self.module.weight.detach()[:, 0].tolist()}


class Study:
    monitor = None

    def load(self, arm, device):
        return Points()

    def reference(self, run, data, device):
        return Model(run)


STUDY = Study()
'''

CLAIMS = """
import pytest
from repro import claim
from lines import LINES, Same

@claim("nothing differs", source="999, Null")
@pytest.mark.parametrize("line", range(LINES))
@pytest.mark.parametrize("pair", range(4))
def test_null(trials, pair, line):
    one, other = trials(Same(copy=2 * pair), Same(copy=2 * pair + 1))
    assert one.slope[line] > other.slope[line]
"""


@pytest.mark.thorough
def test_of_200_true_nulls_no_more_are_settled_than_the_level_allows(pytester, monkeypatch):
    pytester.makepyfile(lines=STUDY, test_null=CLAIMS)
    monkeypatch.setenv("REPRO_STORE", str(pytester.path / "store"))
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "--junitxml=out.xml")
    verdicts = re.findall(
        'name="repro.verdict" value="([^"]+)"', (pytester.path / "out.xml").read_text()
    )
    settled = [verdict for verdict in verdicts if verdict != "inconclusive"]
    assert len(verdicts) == 200
    level = Design(looks=PROFILES["ci"].looks).level
    assert binom.sf(len(settled) - 1, 200, level) > 0.01, settled
