"""The identity of a run: all that its result depends on, and what it is stored under.

The arm's settings, the seed, the data's content, the definitions that training and measuring reach,
the engine, the kind of device and torch's version. Computed without importing torch. The machine
that trained a run is no part of it, but of its provenance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

from repro.arm import Arm, Run
from repro.code import Modules, Root, digest, libraries, reached
from repro.core.device import torch_version

Identity = dict[str, Any]

_REPRO = "repro."

CORE = Root("repro.core.train", "train")
"""The function that trains every study; a study's own imports need not reach it."""


def identity(run: Run, *, engine: str, device: str) -> Identity:
    """Return the identity of a run that an engine trains on a kind of device.

    >>> identity(Run(D256_L4, 42), engine="stacked", device="cpu")["seed"]
    42
    """
    return {
        **_of_arm(run.arm),
        "seed": run.seed,
        "engine": engine,
        "device": device,
        "torch": torch_version(),
    }


@cache
def _of_arm(arm: Arm) -> Identity:
    return {
        "arm": arm.settings(),
        "data": arm.content(),
        "code": code_of(arm),
    }


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
    return _definitions(frozenset(types_of(arm)))


def libraries_of(arm: Arm) -> frozenset[str]:
    """Return the top-level names of the libraries that an arm's own code imports, but for repro's.

    >>> libraries_of(Digits())
    frozenset({'sklearn'})
    """
    return _libraries(frozenset(types_of(arm)))


def types_of(settings: object) -> Iterator[type]:
    """Yield the type of an arm, and those of the settings that are data classes themselves.

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

    Computed once a process: what was loaded does not change while it runs.
    """
    return digest(_definitions(types))


@cache
def _definitions(types: frozenset[type]) -> dict[str, str]:
    return reached(roots(types), _modules(_packages(types)))


@cache
def _libraries(types: frozenset[type]) -> frozenset[str]:
    own = [root for root in roots(types) if not root.module.startswith(_REPRO)]
    return frozenset(libraries(own, _modules(_packages(types)), besides=_REPRO))


def roots(types: frozenset[type]) -> list[Root]:
    """Return the names that the training of arms of these types starts from."""
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
    """Return a run in words.

    >>> name_of(Run(D256_L4, 42))
    'd256 L4 BP k=4, seed 42'
    """
    return f"{run.arm.label}, seed {run.seed}"
