"""Conversion of dataclasses to JSON and back.

A field with the default None is left out of the JSON if it is None.
"""

from __future__ import annotations

import dataclasses
from enum import EnumType
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Return a value for `json.dumps`: dataclasses as objects, tuples as lists."""
    if value is None or isinstance(value, str | int | float):  # first, since most values are plain
        return value
    if dataclasses.is_dataclass(value):
        parts = [(each, getattr(value, each.name)) for each in dataclasses.fields(value)]
        return {
            each.name: to_json(part)
            for each, part in parts
            if part is not None or each.default is not None
        }
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, dict):
        return {name: to_json(each) for name, each in value.items()}
    return value


def from_json(kind: type[T], data: Any) -> T:
    """Return a value of this type from the output of `to_json`."""
    value: T = _built(kind, data)
    return value


def _built(kind: Any, data: Any) -> Any:
    if data is None or isinstance(data, int | float):
        return data
    if (parts := _parts(kind)) is not None:
        return kind(**{name: _built(parts[name], each) for name, each in data.items()})
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return [_built(inner[0], each) for each in data]
    if origin is tuple:
        return tuple(_built(each, part) for each, part in zip(inner, data, strict=True))
    if origin is dict:
        return {name: _built(inner[1], each) for name, each in data.items()}
    return kind(data) if isinstance(kind, EnumType) else data


@cache
def _parts(kind: Any) -> dict[str, Any] | None:
    """Return the type of each field of a dataclass; None for any other type."""
    return get_type_hints(kind) if dataclasses.is_dataclass(kind) else None
