"""The numbers that a judge has simulated, kept in a store's folder for the next process.

The file is never needed. Where it is damaged, or of another version of the code, it is written
anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from repro.files import write_beside

NAME = "simulated.json"

Numbers = float | tuple[float, ...]


def read_simulated(root: Path, *, version: str) -> dict[str, Numbers]:
    """Return the numbers that a store has of a version of the code; none where it has no such.

    >>> keep_simulated(root, {"chance(3,)": 0.25}, version="1")
    >>> read_simulated(root, version="1"), read_simulated(root, version="2")
    ({'chance(3,)': 0.25}, {})
    """
    try:
        content = json.loads((root / NAME).read_text())
        text = content["numbers"]
        is_whole = content["version"] == version and content["sha256"] == _sum(version, text)
        kept: dict[str, Any] = json.loads(text) if is_whole else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return {name: tuple(x) if isinstance(x, list) else x for name, x in kept.items()}


def keep_simulated(root: Path, numbers: Mapping[str, Numbers], *, version: str) -> None:
    """Keep numbers beside those that are there, if one of them is new."""
    kept = read_simulated(root, version=version)
    if numbers.keys() <= kept.keys():
        return
    text = json.dumps({**kept, **numbers})
    content = {"version": version, "sha256": _sum(version, text), "numbers": text}
    with suppress(OSError):
        write_beside(root / NAME, json.dumps(content))


def _sum(version: str, text: str) -> str:
    return hashlib.sha256(f"{version} {text}".encode()).hexdigest()
