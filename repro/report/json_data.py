"""Conversion of dataclasses to JSON and back.

A field whose default is None is left out of the JSON while it is None.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import EnumType
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN = frozenset({int, float, str, bool, type(None)})

_Build = Callable[[Any], Any]
"""Makes the value of one type of what `to_json` wrote of it."""


def to_json(value: Any) -> Any:
    """Return a value as `json.dumps` takes it: dataclasses as objects, tuples as lists."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if fields := _fields(kind):
        parts = [(name, getattr(value, name), is_left_out) for name, is_left_out in fields]
        return {
            name: to_json(part)
            for name, part, is_left_out in parts
            if part is not None or not is_left_out
        }
    if isinstance(value, list | tuple):
        if _PLAIN.issuperset(map(type, value)):  # of which there are thousands, one for each seed
            return list(value)
        return [to_json(each) for each in value]
    if isinstance(value, dict):
        return {name: to_json(each) for name, each in value.items()}
    return value


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    """Return the fields of a dataclass, and which of them are left out while they are None."""
    if not dataclasses.is_dataclass(kind):
        return ()
    return tuple((each.name, each.default is None) for each in dataclasses.fields(kind))


def from_json(kind: type[T], data: Any) -> T:
    """Return the value of this type that `to_json` wrote as `data`."""
    hint: Any = kind
    value: T = _build(hint)(data)
    return value


@cache
def _build(kind: Any) -> _Build:
    """Return what makes values of a type; found once, since there are thousands of values."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _build_dataclass(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        each = _build(inner[0])
        return list if _is_plain(inner[0]) else lambda data: list(map(each, data))
    if origin is tuple:
        parts = [_build(part) for part in inner]
        return lambda data: tuple(build(part) for build, part in zip(parts, data, strict=True))
    if origin is dict:
        of_value = _build(inner[1])
        return lambda data: {name: of_value(each) for name, each in data.items()}
    return kind if isinstance(kind, EnumType) else lambda data: data


def _build_dataclass(kind: Any) -> _Build:
    hints = get_type_hints(kind)
    parts = {name: _build(hint) for name, hint in hints.items() if not _is_plain(hint)}

    def build(data: dict[str, Any]) -> Any:
        built = {name: parts[name](data[name]) for name in parts if name in data}
        return kind(**{**data, **built})

    return build


@cache
def _is_plain(kind: Any) -> bool:
    """Return whether values of a type are the same in JSON."""
    if get_origin(kind) in (Annotated, Union, UnionType):
        kinds = get_args(kind)[:1] if get_origin(kind) is Annotated else get_args(kind)
        return all(map(_is_plain, kinds))
    return kind in _PLAIN
