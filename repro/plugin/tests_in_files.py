"""Finds the test of a claim in a file that pytest has not collected, by its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from repro.code.source import Definition, parse

_PACKAGE = "any.package.that.is.deep.enough"
"""The package of a file for its relative imports, of which only the names count here."""


def name_of_test(claim: str) -> str:
    """Return the name of a claim's test, without its source and its parameters.

    >>> name_of_test("900/steeper[1.0]")
    'steeper'
    """
    found = re.search(r"/(\w+)(\[.*\])?$", claim, re.DOTALL)
    return found[1] if found else claim


def find_tests(file: Path, claim: str) -> list[list[str]]:
    """Return the tests of a claim in a file, each as the names of its classes and its own name.

    >>> find_tests(Path("claims/test_depth_ladder.py"), "004/bp_climbs[d256]")
    [['test_bp_climbs']]
    """
    try:
        module = parse(file.read_bytes(), _PACKAGE)
    except (OSError, SyntaxError, ValueError, ImportError):  # pytest's error says more
        return []
    names = {name_of_test(claim), f"test_{name_of_test(claim)}"}
    imported = [[name] for name in sorted(names & module.imports.keys())]
    return _named(module.definitions, names) + imported


def _named(definitions: Mapping[str, Definition], names: set[str]) -> list[list[str]]:
    found: list[list[str]] = []
    for name, definition in definitions.items():
        found += [[name]] if name in names else []
        found += [[name, *below] for below in _named(definition.members, names)]
    return found


def is_selected(claim: str, test: list[str], *, by: list[str]) -> bool:
    """Return whether names of a command line select a claim's test, or the class that it is in.

    >>> is_selected("9/grows[two]", ["TestTrees", "test_grows"], by=["TestTrees"])
    True
    >>> is_selected("9/grows[two]", ["test_grows"], by=["test_grows[three]"])
    False
    """
    name, bracket, case = by[-1].partition("[")
    is_its_case = not bracket or claim.partition("[")[2] == case
    return is_its_case and test[: len(by)] == [*by[:-1], name]
