"""Cells of tables as values: settings, seeds and measures, whichever way a file writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping

Setting = str | int | float
Number = float | list[float | None] | None
"""A measure of a run: a number, one for each part, or None where there is none or none finite."""

WORDS = ("true", "false", "none")
"""Settings that are words in Python, however a file writes them."""

Rows = list[tuple[str, Mapping[str, object]]]
"""What was read: for each row the place that it stands at, and its cells by column."""


def setting(cell: object) -> Setting:
    """Return a setting such that equal ones are equal, from text and from Python.

    >>> setting("64"), setting("1e-1"), setting("007"), setting(True), setting("True")
    (64, 0.1, '007', 'true', 'true')
    """
    if isinstance(cell, bool) or cell is None:
        return str(cell).lower()
    if isinstance(cell, int):
        return cell
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else cell
    text = str(cell).strip()
    if text.lower() in WORDS:
        return text.lower()
    if text[:1] not in "+-.0123456789" or (text[:1] == "0" and text[1:2].isdigit()):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number) or "_" in text:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def whole(cell: object) -> int | None:
    """Return a seed, an epoch or a step as a whole number; None where it is none.

    >>> whole("3"), whole(3.0), whole("3.5"), whole("")
    (3, 3, None, None)
    """
    if isinstance(cell, str) and cell.lstrip("-").isdecimal():
        return int(cell)
    try:
        number = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else None


def is_empty(cell: object) -> bool:
    """Return whether nothing is written in a cell: a value that is not a number is something."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def number(cell: object) -> Number:
    """Return a measure; None where it is not finite. Raises ValueError where it is no number.

    >>> number("0.5"), number("nan"), number([1, 2])
    (0.5, None, [1.0, 2.0])
    """
    if isinstance(cell, list | tuple):
        return [_finite(each) for each in cell]
    return _finite(cell)


def _finite(cell: object) -> float | None:
    if cell is None:
        return None
    if isinstance(cell, bool):
        raise ValueError(cell)
    try:
        value = float(cell)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(cell) from None
    return value if math.isfinite(value) else None
