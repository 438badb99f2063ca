"""The generator of the JSON Schema of `results.json`, from the types that are written there.

    python -m repro.report.schema     # run it after a change of those types

A field's docstring is its description; `Annotated[int, {"minimum": 0}]` adds to what its type says.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
from enum import EnumType
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from repro.report.results import SCHEMA, ResultsDocument

TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def results_schema() -> dict[str, Any]:
    """Return the schema of `results.json`."""
    definitions: dict[str, Any] = {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of a session of claims",
        **_object(ResultsDocument, definitions),
        "$defs": definitions,
    }


def as_text(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; those of dataclasses are added to `definitions`."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return {**_schema(inner[0], definitions), **inner[1]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is UnionType:
        return {"type": [TYPES[each] for each in inner]}
    if origin is list:
        return {"type": "array", "items": _schema(inner[0], definitions)}
    if origin is tuple:
        items, length = [_schema(each, definitions) for each in inner], len(inner)
        return {"type": "array", "prefixItems": items, "minItems": length, "maxItems": length}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(inner[1], definitions)}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        name = kind.__name__
        definitions[name] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(kind, EnumType):
        return {"enum": [each.value for each in kind]}  # type: ignore[var-annotated]
    return {} if kind is Any else {"type": TYPES[kind]}


def _object(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints, described = get_type_hints(kind, include_extras=True), _descriptions(kind)
    return {
        "type": "object",
        "description": _one_line(kind.__doc__),
        "properties": {
            name: {**_schema(hint, definitions), **described.get(name, {})}
            for name, hint in hints.items()
        },
        "required": [each.name for each in dataclasses.fields(kind) if each.default is not None],
        "additionalProperties": False,
    }


def _descriptions(kind: type) -> dict[str, dict[str, str]]:
    """Return the docstring of each field of a class, by field."""
    [definition] = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: {"description": _one_line(note.value.value)}
        for field, note in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant)
        if isinstance(note.value.value, str)
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    path = Path(__file__).with_name(SCHEMA)
    path.write_text(as_text(results_schema()), encoding="utf-8")
    print(f"wrote {path}")
