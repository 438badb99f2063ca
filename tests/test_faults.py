"""The faults that `benchmarks/teeth.py` plants still have their places in the code."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from faults import FAULTS  # noqa: E402


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_can_be_planted(fault):
    assert (ROOT / fault.path).read_text().count(fault.old) == 1


def test_each_has_a_name_of_its_own():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
