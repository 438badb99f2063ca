"""Conversion of dataclasses to JSON and back.

A field whose default is None is left out of the JSON while it is None.
"""

from __future__ import annotations

import dataclasses
from enum import EnumType
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN = frozenset({int, float, str, bool, type(None)})


def to_json(value: Any) -> Any:
    """Return a value as `json.dumps` takes it: dataclasses as objects, tuples as lists."""
    if dataclasses.is_dataclass(value):
        parts = [(each, getattr(value, each.name)) for each in dataclasses.fields(value)]
        return {
            each.name: to_json(part)
            for each, part in parts
            if part is not None or each.default is not None
        }
    if isinstance(value, list | tuple):
        if _PLAIN.issuperset(map(type, value)):  # of which there are thousands, one for each seed
            return list(value)
        return [to_json(each) for each in value]
    if isinstance(value, dict):
        return {name: to_json(each) for name, each in value.items()}
    return value


def from_json(kind: type[T], data: Any) -> T:
    """Return the value of this type that `to_json` wrote as `data`."""
    value: T = _built(kind, data)
    return value


def _built(kind: Any, data: Any) -> Any:
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: _built(hints[name], part) for name, part in data.items()})
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        if _is_plain(inner[0]):
            return list(data)
        return [_built(inner[0], each) for each in data]
    if origin is tuple:
        return tuple(_built(part, each) for part, each in zip(inner, data, strict=True))
    if origin is dict:
        return {name: _built(inner[1], each) for name, each in data.items()}
    return kind(data) if isinstance(kind, EnumType) else data


@cache
def _is_plain(kind: Any) -> bool:
    """Return whether values of a type are the same in JSON."""
    if get_origin(kind) in (Annotated, Union, UnionType):
        kinds = get_args(kind)[:1] if get_origin(kind) is Annotated else get_args(kind)
        return all(map(_is_plain, kinds))
    return kind in _PLAIN


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
