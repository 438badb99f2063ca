"""The examples of the docstrings run, one for every public word."""

import doctest
import importlib
import pkgutil

import pytest

import repro.document
from repro.document import shown

MODULES = [
    importlib.import_module(f"repro.document.{module.name}")
    for module in pkgutil.iter_modules(repro.document.__path__)
]
NAMES = {**vars(shown), **{name: getattr(repro.document, name) for name in repro.document.__all__}}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module):
    found = doctest.testmod(module, extraglobs=NAMES)
    assert found.failed == 0


@pytest.mark.parametrize(
    "name", [name for name in repro.document.__all__ if callable(getattr(repro.document, name))]
)
def test_every_public_word_has_an_example_or_is_made_by_one(name):
    made = {"Interval", "Number"}  # by `printed` and by formulas
    assert name in made or ">>>" in getattr(repro.document, name).__doc__
