import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "name", ["code.meaning", "code.reached", "runs.profiles", "runs.provenance"]
)
def test_the_documented_examples_run(name):
    outcome = doctest.testmod(importlib.import_module(f"repro.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
