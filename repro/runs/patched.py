"""Whether this process has changed what training reads from its files: a constant, or a function.

The key of a run is made of the files. Trainer processes import them afresh, and never see what a
test, a `conftest.py` or a debugger has changed here.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from types import FunctionType
from typing import Any

from repro.arm import Arm
from repro.runs.identity import modules_of, names_reached, types_of

_DECORATED = ("__init_subclass__", "__class_getitem__", "__new__")
"""Functions that Python decorates by itself."""

_PLAIN = (bool, int, float, complex, str, bytes, tuple, type(None))


def patched(arm: Arm) -> str:
    """Say what is not here as it is in the file that training reads; empty where nothing is.

    >>> patched(D256_L4)
    ''
    """
    for module, name, stated in _stated(frozenset(types_of(arm))):
        here = _value(module, name)
        is_changed = (
            not (isinstance(here, FunctionType) and here.__qualname__ == name)
            if stated is FunctionType
            else repr(here) != repr(stated)
        )
        if is_changed and here is not _ABSENT:
            said = "another function" if stated is FunctionType else repr(here)
            return (
                f"{module}.{name} is {said} here, and training reads it from its file: it does not"
                " see what a test or a conftest.py changes. Make it a setting of the arm."
            )
    return ""


_ABSENT = object()


@cache
def _stated(types: frozenset[type]) -> list[tuple[str, str, Any]]:
    """Return the constants and functions that arms of these types reach, as their files state them.

    Of a function its type stands for it. What has a decorator, or can be changed in place, is left
    out: it need not be what its statement says.
    """
    return list(_statements(types))


def _statements(types: frozenset[type]) -> Iterator[tuple[str, str, Any]]:
    modules = modules_of(types)
    for module, name in names_reached(types):
        definition = modules[module].definitions.get(name.partition(".")[0])
        if definition is not None and "." in name:
            definition = definition.members.get(name.partition(".")[2])
        if definition is None or len(definition.statements) != 1:
            continue
        [statement] = definition.statements
        is_plain = isinstance(statement, ast.FunctionDef) and not statement.decorator_list
        if is_plain and not name.endswith(_DECORATED):
            yield module, name, FunctionType
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and _binds_one_name(statement):
            with suppress(ValueError):  # it is put together
                value = ast.literal_eval(statement.value)  # type: ignore[arg-type]
                if isinstance(value, _PLAIN):
                    yield module, name, value


def _binds_one_name(statement: ast.Assign | ast.AnnAssign) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return statement.value is not None and all(isinstance(x, ast.Name) for x in targets)


def _value(module: str, name: str) -> Any:
    """Return what a name stands for in this process; `_ABSENT` where nothing does."""
    owner: Any = sys.modules.get(module)
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part, None)
    return vars(owner).get(last, _ABSENT) if hasattr(owner, "__dict__") else _ABSENT
