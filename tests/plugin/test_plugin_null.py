"""Nothing is there, so nothing may be found: an arm against itself, through the whole pipeline."""

import re

import pytest
from scipy.stats import binom

from repro.judge import Design
from repro.runs.profiles import PROFILES

# Each run measures 50 lines that share nothing, so that a pair of arms carries 50 separate claims.
STUDY = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy

LINES = 50


@dataclass(frozen=True, kw_only=True)
class Same(OutsideArm):
    study: ClassVar[str] = "lines"
    metrics: ClassVar[dict] = {"slope": Metric("identity", listed=True)}
    copy: int
    data: str = "points"


def train(arm, seed):
    return {"slope": np.random.default_rng([arm.copy, seed]).normal(size=LINES).tolist()}


STUDY = OutsideStudy(train)
"""

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
def test_of_200_true_nulls_no_more_are_settled_than_the_level_allows(project):
    project.makepyfile(lines=STUDY, test_lines=CLAIMS)
    project.runpytest_inprocess("-n", "0", "-p", "no:cacheprovider", "--junitxml=out.xml")
    verdicts = re.findall(
        'name="repro.verdict" value="([^"]+)"', (project.path / "out.xml").read_text()
    )
    settled = [verdict for verdict in verdicts if verdict != "inconclusive"]
    assert len(verdicts) == 200
    level = Design(looks=PROFILES["ci"].looks).level
    assert binom.sf(len(settled) - 1, 200, level) > 0.01, settled
