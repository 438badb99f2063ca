"""The examples of the docstrings run, one for every public word."""

import doctest
import importlib
import pkgutil

import pytest

import repro.document
from repro.document import decimals

MODULES = [
    importlib.import_module(f"repro.document.{module.name}")
    for module in pkgutil.iter_modules(repro.document.__path__)
]
PUBLIC = {name: getattr(repro.document, name) for name in repro.document.__all__}
NAMES = {**vars(decimals), **PUBLIC}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module):
    result = doctest.testmod(module, extraglobs={**NAMES, "document": repro.document.Document()})
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if callable(value)])
def test_every_public_word_has_an_example_or_is_made_by_one(name):
    made = {"Interval", "Number"}  # by `printed` and by formulas
    assert name in made or ">>>" in PUBLIC[name].__doc__
