"""The code that the nodes of a cluster run: the project as it is here, and repro."""

from __future__ import annotations

import sys
from pathlib import Path

from repro.data.locate import data_folder

USUALLY_LEFT = (".git", ".repro", "**/__pycache__", "**/.pytest_cache", "**/.mypy_cache")
"""Patterns of what no node needs."""


def paths(root: Path) -> tuple[str, ...]:
    """Return where Python finds modules below the project, in the order in which it looks."""
    places = [Path(place).absolute() for place in sys.path]
    below = [path.relative_to(root) for path in places if path.is_relative_to(root)]
    return tuple(dict.fromkeys(str(path) for path in below if not _is_environment(root / path)))


def not_code(root: Path, store: Path) -> list[Path]:
    """Return the folders below the project that are no code: a store, data, environments."""
    folders = [store, data_folder(), *(x.parent for x in root.glob("*/pyvenv.cfg"))]
    inside = (x.absolute() for x in folders if x.absolute().is_relative_to(root))
    return [path.relative_to(root) for path in inside if path != root]


def _is_environment(path: Path) -> bool:
    return any((x / "pyvenv.cfg").is_file() for x in (path, *path.parents))
