"""The sizes of experiments, as pages name them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from repro.data.characters import SENTENCES
from repro.ledger import Entry

PROFILE_SIZES = {"any": "any", "paper": "documented"}

DOCUMENT = "the document"
DOCUMENTED = "paper, untrained"
"""The sizes of claims about untrained networks of the documented size, which any profile has."""

COUNTED = "arithmetic"
"""The data of claims that count multiplications, which have the documented size at any profile."""


def size_of(profile: str, data: str) -> str:
    """Return the size of the experiments of a profile on some data.

    On source 000's sentences profile `ci` has the documented size.

    >>> size_of("ci", "cifar10"), size_of("ci", "repeated-sentences")
    ('small', 'documented')
    """
    return "documented" if data in (SENTENCES, COUNTED) else PROFILE_SIZES.get(profile, "small")


def each_size_once(entries: Iterable[Entry], sizes: Mapping[str, str]) -> list[Entry]:
    """Return entries, without those at `ci` that repeat an experiment of the documented size.

    A test that asks for size="paper" has it at each profile; `sizes` are those of `read_judges`.
    Where the ledger has no entry at `paper`, the one at `ci` is returned as if it were.
    """
    found: dict[tuple[str, str, str], Entry] = {}
    for entry in sorted(entries, key=lambda entry: entry.profile != "paper"):
        is_documented = sizes.get(entry.claim.partition("[")[0]) == DOCUMENTED
        if entry.profile == "ci" and (is_documented or entry.data == COUNTED):
            entry = replace(entry, profile="paper")
        found.setdefault((entry.claim, entry.profile, entry.data), entry)
    return list(found.values())


def read_judges(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the claims in a file, named as in the ledger without parameters, and their sizes."""
    known: dict[str, str] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _text(node.value, known)
        if isinstance(node, ast.FunctionDef) and (mark := _mark(node, known)) is not None:
            source = mark.get("source", "").partition(",")[0].strip()
            name = f"{source}/{node.name.removeprefix('test_')}"
            yield name, _sizes(node, mark)


def _mark(function: ast.FunctionDef, known: Mapping[str, str]) -> dict[str, str] | None:
    """Return the texts that a test's claim is given by name; None where it is no claim."""
    for each in function.decorator_list:
        if isinstance(each, ast.Call) and getattr(each.func, "id", None) == "claim":
            return {
                keyword.arg: _text(keyword.value, known) for keyword in each.keywords if keyword.arg
            }
    return None


def _text(value: ast.expr, known: Mapping[str, str]) -> str:
    """Return a text of a module, made of texts that are known; empty where it is none."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else ""
    if isinstance(value, ast.Name):
        return known.get(value.id, "")
    if isinstance(value, ast.FormattedValue):
        return _text(value.value, known)
    return "".join(_text(each, known) for each in getattr(value, "values", []))


def _sizes(function: ast.FunctionDef, mark: Mapping[str, str]) -> str:
    if "document" in [argument.arg for argument in function.args.args]:
        return DOCUMENT
    sizes = {
        _text(keyword.value, {})
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "size"
    }
    if sizes:
        return f"{', '.join(sorted(sizes))}, untrained"
    return mark.get("only_at") or "ci, paper"
