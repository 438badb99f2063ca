"""The identity of a run: what is known of it before it is trained; its hash is its address.

It has the settings that are not at their defaults, the seed, the data's content, the kind of device
and torch's version. What else made a result (the code, files, variables) is in its trace. It is
computed quickly, without importing torch. The processor and the engine only round differently, so
they are provenance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import signature
from typing import Any

from repro.arm import Arm, Run
from repro.core.device import require_torch, torch_version
from repro.own.arm import OutsideArm
from repro.store import run_key
from repro.store.key import plain

Identity = dict[str, Any]


def identity(run: Run, *, device: str, starts_from: str | None = None) -> Identity:
    """Return the identity of a run on a kind of device, as plain data.

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
    settings = {field.name for field in dataclasses.fields(arm)}
    members = {name for kind in type(arm).__mro__ for name in vars(kind)}
    more = signature(type(arm)).parameters.keys() - settings
    if more and vars(arm).keys() - settings - members:
        raise ValueError(
            f"{type(arm).__name__} takes {', '.join(sorted(more))}, which is no field: arms that"
            " differ in it would be one run; make it a field."
        )
    found = {"arm": arm.given(), "class": name_of_type(type(arm)), "data": arm.content()}
    of_arm: Identity = plain(found, "identity")
    return of_arm


def name_of_type(kind: type) -> str:
    """Return the full name of a class.

    >>> name_of_type(Recipe)
    'repro.recipe.Recipe'
    """
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def settings_of(arm: Arm) -> dict[str, Any]:
    """Return all settings of an arm, as they stand beside its results."""
    found: dict[str, Any] = plain(arm.settings(), "settings")
    return found


def other_settings(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in which setting a stored result differs from an arm of today; empty if in none.

    A setting that the result does not have came later, and had today's default, if no code that
    made the result knows its name.

    >>> other_settings({"shift": 4}, {"shift": 2})
    'shift 4; the arm says 2'
    """
    for name, value in then.items():
        if name not in now:
            return f"{name} {value!r}, which the arm does not have"
        if isinstance(value, dict) and isinstance(now[name], dict):
            if found := other_settings(value, now[name]):
                return f"{name}.{found}"
        elif repr(value) != repr(now[name]):
            return f"{name} {value!r}; the arm says {now[name]!r}"
    return ""


def new_settings(then: Mapping[str, Any], now: Mapping[str, Any]) -> set[str]:
    """Return the names of settings that a stored result does not have.

    >>> new_settings({"shift": 4}, {"shift": 4, "gain": 1})
    {'gain'}
    """
    found = set(now) - set(then)
    for name, value in then.items():
        if isinstance(value, dict) and isinstance(now.get(name), dict):
            found |= new_settings(value, now[name])
    return found


def engine_of(arm: Arm, *, device: str = "cpu") -> str:
    """Return the engine that trains an arm: many runs as one program, or one after the other.

    The study decides this by `repro.arm.Arm.stacks_on`.
    """
    return "stacked" if arm.stacks_on(device) else "loop"


def arms_of(arm: Arm) -> list[str]:
    """Return the names of the classes whose fields are settings: all arms, and parts of this one.

    >>> "repro.recipe.Recipe" in arms_of(D256_L4)
    True
    """
    kinds: set[type] = {*_below(Arm), *types_of(arm)}
    return sorted({name_of_type(kind) for kind in kinds})


def _below(kind: type) -> Iterator[type]:
    yield kind
    found: list[type] = kind.__subclasses__()
    for each in found:
        yield from _below(each)


def types_of(settings: object) -> Iterator[type]:
    """Yield the type of an arm, and the types of its settings that are data classes.

    >>> list(types_of(D256_L4))
    [<class 'LadderArm'>, <class 'repro.recipe.Recipe'>]
    """
    if dataclasses.is_dataclass(settings):
        yield type(settings)
        for field in dataclasses.fields(settings):
            yield from types_of(getattr(settings, field.name))


def name_of(run: Run) -> str:
    """Return the name of a run.

    >>> name_of(Run(D256_L4, 42))
    'd256 L4 BP k=4, seed 42'
    """
    return f"{run.arm.label}, seed {run.seed}"
