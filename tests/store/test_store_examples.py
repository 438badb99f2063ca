from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["key", "locks", "checkpoints", "store"])
def test_the_documented_examples_run(name: str, tmp_path: Path) -> None:
    module = importlib.import_module(f"repro.store.{name}")
    outcome = doctest.testmod(module, extraglobs={"folder": tmp_path}, verbose=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0
