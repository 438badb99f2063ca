"""Tells installed libraries from the code of a project."""

from __future__ import annotations

from functools import cache
from importlib.metadata import distributions
from pathlib import Path


def is_installed(place: str) -> bool:
    """Return whether an installer has put a package, or the file of a module, at a place.

    Installers keep a record of their files; a checkout has none.

    >>> is_installed(pytest.__file__)
    True
    """
    path = Path(place)
    is_usual = not {"site-packages", "dist-packages"}.isdisjoint(path.parts)
    return is_usual or path.name in _recorded_in(str(path.parent))


@cache
def _recorded_in(folder: str) -> set[str]:
    """Return the names of packages and modules that installers have recorded in a folder."""
    found = distributions(path=[folder])
    texts = [x.read_text("RECORD") or x.read_text("installed-files.txt") or "" for x in found]
    lines = [line.removeprefix("../") for text in texts for line in text.splitlines()]
    return {line.partition(",")[0].partition("/")[0] for line in lines}
