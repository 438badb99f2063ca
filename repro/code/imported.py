"""The files of its project that a script imports, read and never run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from repro.code.source import parse


@cache  # a session asks for the settings of an arm often
def imported_by(script: Path, *, places: tuple[Path, ...]) -> list[Path]:
    """Return the Python files below some places that a script imports, and that those import.

    What is loaded by a name that is put together while running is not seen.

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
    """Yield the files that one file names in its imports, wherever in it these stand."""
    around = min((p for p in places if file.is_relative_to(p)), key=lambda p: len(p.parts))
    package = ".".join(file.parent.relative_to(around).parts)
    try:
        names = parse(file.read_bytes(), package).executed
    except (OSError, SyntaxError, ValueError, ImportError):
        return  # it is said where it is hashed, or run
    for name in names:  # which may be one of a module, or of a module of a package
        yield from _files(places, name)


def _files(places: Sequence[Path], name: str) -> Iterator[Path]:
    """Yield the files of a module and of the packages around it, as far as they are there."""
    parts = name.split(".")
    for place in places:
        for count in range(1, len(parts) + 1):
            module = place.joinpath(*parts[:count])
            candidates = (module.with_suffix(".py"), module / "__init__.py")
            yield from (file for file in candidates if file.is_file())
