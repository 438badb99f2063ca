"""Helpers that readers share: nested settings become columns, a missing library is one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repro.recorded.errors import RecordedError


def flat(settings: Mapping[str, Any], before: str = "") -> dict[str, object]:
    """Return settings in which those of a mapping are called by their path.

    >>> flat({"lr": 0.1, "model": {"width": 8}})
    {'lr': 0.1, 'model.width': 8}
    """
    columns: dict[str, object] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            columns |= flat(value, f"{before}{name}.")
        else:
            columns[f"{before}{name}"] = value
    return columns


def lacks(library: str, extra: str) -> RecordedError:
    """Return the error that a library is missing, and what installs it."""
    return RecordedError(f"This reader needs {library}: pip install 'repro-claims[{extra}]'.")
