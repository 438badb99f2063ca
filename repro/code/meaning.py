"""Python source as what it computes: without comments, docstrings, messages and annotations.

The text that stands for a piece of source is our own, not `ast.dump`'s: that changes with the minor
version of Python, and a run's key must not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

PLACE_OF_A_MESSAGE = "<message>"

_NOT_COMPUTED = {"ctx", "type_comment", "kind", "returns", "annotation"}
"""Fields of syntax nodes that decide nothing. Annotations of class attributes are put back in:
dataclasses read them."""


def meaning(node: ast.AST, *, is_attribute: bool = False) -> str:
    """Return a text that changes when what the node computes may change.

    `is_attribute` is for statements that stand in a class body itself.

    >>> import ast
    >>> meaning(ast.parse("x = 1  # one")) == meaning(ast.parse("x = 1"))
    True
    """
    parts = [_text(value) for _, value in _fields(node)]
    if is_attribute and isinstance(node, ast.AnnAssign):
        parts.append(_text(node.annotation))
    return f"{type(node).__name__}({' '.join(parts)})"


def _text(value: object) -> str:
    if isinstance(value, ast.AST):
        return meaning(value)
    if isinstance(value, list):
        return f"[{' '.join(_text(item) for item in value)}]"
    return f"{type(value).__name__}:{value!r}"


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the fields that decide something; prose is dropped, messages are replaced."""
    for name in node._fields:
        value = getattr(node, name, None)
        if value is None and not isinstance(node, ast.Constant):
            continue
        if value == [] or name in _NOT_COMPUTED:
            continue
        if isinstance(node, ast.Assert) and name == "msg":
            continue
        if isinstance(value, list):
            value = [item for item in value if not is_prose(item)]
        if isinstance(node, ast.Raise):
            value = _without_messages(value)
        yield name, value


def is_prose(node: object) -> bool:
    """Return whether a statement is a string alone: a docstring, or an attribute's text."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _without_messages(value: object) -> object:
    """Return what is raised with every text in it replaced."""
    if not isinstance(value, ast.AST):
        return value
    if is_text(value):
        return ast.Constant(PLACE_OF_A_MESSAGE)
    if isinstance(value, ast.Call):
        arguments = [argument for argument in value.args if not is_text(argument)]
        return ast.Call(value.func, arguments, value.keywords)
    return value


def is_text(node: ast.AST) -> bool:
    """Return whether an expression is a text written in the source, also one put together."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return is_text(node.func.value)  # "{} seeds".format(n)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr)


def computed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it that `meaning` looks at."""
    yield node
    for _, value in _fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from computed(child)


def type_names(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the annotations in a node, quoted ones parsed: they name the types of what comes in."""
    for child in ast.walk(node):
        for name in ("annotation", "returns"):
            annotation = getattr(child, name, None)
            for part in ast.walk(annotation) if annotation is not None else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    quoted = _parsed(part.value)
                    if quoted is not None:
                        yield quoted
                elif isinstance(part, ast.expr):
                    yield part


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
