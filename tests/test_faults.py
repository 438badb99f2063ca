"""The faults of `benchmarks/faults`: each can be planted, and one in code that trains counts."""

import sys
from pathlib import Path

from repro.code.units import parse

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from teeth import FAULTS, faults_of  # noqa: E402


def test_faults_can_be_planted():
    for fault in FAULTS:
        fault.planted((ROOT / fault.path).read_text())  # says it where it cannot


def test_every_fault_in_code_that_trains_counts():
    for fault in faults_of("training"):
        text = (ROOT / fault.path).read_text()
        before, after = (parse(x, "a.b.c").digests() for x in (text, fault.planted(text)))
        assert before != after, fault.name
