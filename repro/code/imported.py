"""Finds the project files that a script imports, by reading them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from repro.code.source import parse


@cache  # called for each use of an arm's settings
def imported_by(script: Path, *, places: tuple[Path, ...]) -> list[Path]:
    """Return the Python files below `places` that a script imports, directly or indirectly.

    Modules whose names are computed at run time are not found.

    >>> (folder / "train.py").write_text("from lib.model import build")
    >>> imported_by(folder / "train.py", places=(folder,))  # and lib/__init__.py, if there is one
    [PosixPath('.../lib/model.py')]
    """
    found: dict[Path, None] = {}
    waiting = [script]
    while waiting:
        file = waiting.pop()
        new = [each for each in _imported(file, places) if each not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return sorted(found.keys() - {script})


def _imported(file: Path, places: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that one file names in any of its import statements."""
    around = min((p for p in places if file.is_relative_to(p)), key=lambda p: len(p.parts))
    package = ".".join(file.parent.relative_to(around).parts)
    try:
        names = parse(file.read_bytes(), package).executed
    except (OSError, SyntaxError, ValueError, ImportError):
        return  # reported when the file is hashed, or run
    for name in names:
        yield from _files(places, name)


def _files(places: Sequence[Path], name: str) -> Iterator[Path]:
    """Yield the existing files of a module and of its parent packages."""
    parts = name.split(".")
    for place in places:
        for count in range(1, len(parts) + 1):
            module = place.joinpath(*parts[:count])
            candidates = (module.with_suffix(".py"), module / "__init__.py")
            yield from (file for file in candidates if file.is_file())
