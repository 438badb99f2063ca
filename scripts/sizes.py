"""The sizes of experiments, as pages name them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from repro.data.characters import SENTENCES
from repro.ledger import Entry

PROFILE_SIZES = {"any": "any", "paper": "documented"}

COUNTED = "arithmetic"
"""The data of claims that count multiplications, which have the documented size at any profile."""


def size_of(profile: str, data: str) -> str:
    """Return the size of the experiments of a profile on some data.

    On source 000's sentences profile `ci` has the documented size.

    >>> size_of("ci", "cifar10"), size_of("ci", "repeated-sentences")
    ('small', 'documented')
    """
    return "documented" if data in (SENTENCES, COUNTED) else PROFILE_SIZES.get(profile, "small")


def each_size_once(entries: Iterable[Entry], tests: Iterable[Path]) -> list[Entry]:
    """Return entries, without those at `ci` that repeat an experiment of the documented size.

    A test that asks for size="paper" has it at each profile. Where the ledger has no entry at
    `paper`, the one at `ci` is returned as if it were.
    """
    documented = {name for path in tests for name in _of_the_documented_size(path)}
    found: dict[tuple[str, str, str], Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.profile != "paper"):
        test = entry.claim.partition("/")[2].partition("[")[0]
        if entry.profile == "ci" and (test in documented or entry.data == COUNTED):
            entry = replace(entry, profile="paper")
        found.setdefault((entry.claim, entry.profile, entry.data), entry)
    return list(found.values())


def _of_the_documented_size(path: Path) -> set[str]:
    """Return the names of a file's claims that ask for size="paper", by its source."""
    return {
        function.name.removeprefix("test_")
        for function in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.keyword) and node.arg == "size"
        if isinstance(node.value, ast.Constant) and node.value.value == "paper"
    }
