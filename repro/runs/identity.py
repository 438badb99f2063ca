"""The identity of a run: all that its result depends on; its hash is the key in the store.

It has the settings that are not at their defaults, the seed, the data's content, the definitions
that training and measuring reach, the kind of device and torch's version. It is computed quickly,
without importing torch. The processor and the engine only round differently, so they are
provenance.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from types import FunctionType
from typing import Any

from repro.arm import Arm, Run
from repro.code import Definition, Modules, Root, digest, libraries, reached
from repro.core.device import require_torch, torch_version
from repro.own.arm import OutsideArm, OwnArm
from repro.store import run_key

Identity = dict[str, Any]

_REPRO = "repro."

CORE = Root("repro.core.train", "train")
"""The function that trains every study, whether or not the study imports it."""

_DECORATED = ("__init_subclass__", "__class_getitem__", "__new__")
"""Functions that Python itself turns into static or class methods."""

_PLAIN = (bool, int, float, complex, str, bytes, tuple, type(None))

_ABSENT = object()


def identity(run: Run, *, device: str, starts_from: str | None = None) -> Identity:
    """Return the identity of a run on a kind of device.

    `starts_from` is the key of the run that it starts from, if the caller knows it already.

    >>> identity(Run(D256_L4, 42), device="cpu")["seed"]
    42
    """
    if not isinstance(run.arm, OutsideArm):
        require_torch()
    found = {**_of_arm(run.arm), "seed": run.seed, "device": device, "torch": torch_version()}
    if run.arm.starts_from is not None:
        found["starts_from"] = starts_from or run_key(identity(run.arm.starts_from, device=device))
    return found


@cache
def _of_arm(arm: Arm) -> Identity:
    return {"arm": arm.given(), "data": arm.content(), "code": code_of(arm)}


def engine_of(arm: Arm, *, device: str = "cpu") -> str:
    """Return the engine that trains an arm: many runs as one program, or one after the other.

    The study decides this by `repro.arm.Arm.stacks_on`.
    """
    return "stacked" if arm.stacks_on(device) else "loop"


def code_of(arm: Arm) -> str:
    """Return a digest of the definitions that the training of an arm reaches.

    >>> code_of(D256_L4)[:4]
    """
    return _code(frozenset(types_of(arm)))


def definitions_of(arm: Arm) -> dict[str, str]:
    """Return the definitions that the training of an arm reaches, each with a hash of its text.

    >>> "repro.core.train.train" in definitions_of(D256_L4)
    True
    """
    return {name: x.digest for name, x in _definitions(frozenset(types_of(arm))).items()}


def packages_of(arm: Arm) -> dict[str, str]:
    """Return the versions of the libraries that a user's own study imports, by their names.

    They are no part of a run's key, or a patch release of a library would train everything again.
    They are recorded beside the result, and a remark names a version that has changed.

    >>> packages_of(Digits())
    {'scikit-learn': '1.5.1'}
    """
    if not isinstance(arm, OwnArm):
        return {}
    imported = _libraries(frozenset(types_of(arm)))
    named = sorted({name for top in imported for name in _distributions().get(top, ())})
    return {name: metadata.version(name) for name in named}


def types_of(settings: object) -> Iterator[type]:
    """Yield the type of an arm, and the types of its settings that are data classes.

    >>> list(types_of(D256_L4))
    [<class 'LadderArm'>, <class 'repro.recipe.Recipe'>]
    """
    if dataclasses.is_dataclass(settings):
        yield type(settings)
        for field in dataclasses.fields(settings):
            yield from types_of(getattr(settings, field.name))


@cache
def _code(types: frozenset[type]) -> str:
    """Return a digest of the definitions that arms of these types reach.

    It is computed once in a process, since loaded code does not change.
    """
    return digest(_definitions(types))


@cache
def _definitions(types: frozenset[type]) -> dict[str, Definition]:
    return reached(roots(types), _modules(_packages(types)))


@cache
def _libraries(types: frozenset[type]) -> frozenset[str]:
    own = [root for root in roots(types) if not root.module.startswith(_REPRO)]
    return frozenset(libraries(own, _modules(_packages(types)), besides=_REPRO))


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def roots(types: frozenset[type]) -> list[Root]:
    """Return the names where the search for reached code begins, for arms of these types."""
    settings = [Root(each.__module__, each.__qualname__) for each in types]
    arms = [each for each in types if issubclass(each, Arm)]
    studies = [Root(arm.study, "STUDY") for arm in arms]
    further = [Root(module) for arm in arms for module in arm.code]
    return [*settings, *studies, *further, CORE]


def _packages(types: frozenset[type]) -> frozenset[str]:
    return frozenset(root.module.partition(".")[0] for root in roots(types))


@cache
def _modules(packages: frozenset[str]) -> Modules:
    return Modules(packages)


def name_of(run: Run) -> str:
    """Return the name of a run.

    >>> name_of(Run(D256_L4, 42))
    'd256 L4 BP k=4, seed 42'
    """
    return f"{run.arm.label}, seed {run.seed}"


def patched(arm: Arm) -> str:
    """Name a function or constant that this process has changed; empty if there is none.

    The key is made from the files. Trainer processes import the files, so they never see a change
    by a test, a `conftest.py` or a debugger in this process.

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


@cache
def _stated(types: frozenset[type]) -> list[tuple[str, str, Any]]:
    """Return the constants and functions that arms of these types reach, as written in their files.

    A function is represented by its type. Decorated functions and mutable values are left out,
    since they may rightly differ from their statement.
    """
    return list(_statements(types))


def _statements(types: frozenset[type]) -> Iterator[tuple[str, str, Any]]:
    for full, definition in _definitions(types).items():
        name = definition.name
        module = full.removesuffix(f".{name}")
        statement = definition.statements[0] if len(definition.statements) == 1 else None
        is_plain = isinstance(statement, ast.FunctionDef) and not statement.decorator_list
        if is_plain and not name.endswith(_DECORATED):
            yield module, name, FunctionType
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and _binds_one_name(statement):
            with suppress(ValueError):  # no literal
                value = ast.literal_eval(statement.value)  # type: ignore[arg-type]
                if isinstance(value, _PLAIN):
                    yield module, name, value


def _binds_one_name(statement: ast.Assign | ast.AnnAssign) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return statement.value is not None and all(isinstance(x, ast.Name) for x in targets)


def _value(module: str, name: str) -> Any:
    """Return the value of a name in this process; `_ABSENT` without one."""
    owner: Any = sys.modules.get(module)
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part, None)
    return vars(owner).get(last, _ABSENT) if hasattr(owner, "__dict__") else _ABSENT
