"""Finds project files that a run opens while it trains, but that its arm does not name.

Code that a run imports is part of its key, and so are the files in its arm's `reads`. Other files
may change without training the run again, so a remark names them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from repro.arm import Arm
from repro.own.arm import OwnArm

_MARKS = (".git", "pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini")
_FOREIGN = frozenset({"__pycache__", "site-packages", "node_modules"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

_taken: list[set[Path]] = []
"""The sets for the names of opened files; the last one is in use."""


@contextmanager
def _taking(files: set[Path]) -> Iterator[None]:
    _taken.append(files)
    try:
        yield
    finally:
        _taken.pop()


class Opened:
    """Notes which files the training of an arm opens.

    Only for arms of `repro.own`, since the data of other studies is known. Files below `but`, such
    as a run's own folder and its checkpoint, are not noted.

    >>> opened = Opened(arm, but=store.root)
    >>> with opened.watching():
    ...     train(study, runs)
    >>> opened.unnamed
    ['config.json']
    """

    def __init__(self, arm: Arm, *, but: Path) -> None:
        self._arm, self._but = arm, but.resolve()
        self._files: set[Path] = set()
        self._named: set[Path] = set()
        if isinstance(arm, OwnArm):
            _listen()
            self._named.update(file.resolve() for file in arm.files_read())
            with _taking(self._named):  # the data's content, part of the key, covers these files
                arm.content()

    def watching(self) -> AbstractContextManager[None]:
        """Note the files that are opened within a block."""
        return _taking(self._files)

    @property
    def unnamed(self) -> list[str]:
        """The opened files of the arm's project that the arm does not name."""
        if not isinstance(self._arm, OwnArm):
            return []
        files = (each for each in self._files - self._named if not each.is_relative_to(self._but))
        return _in_project(files, project_of(self._arm.study))


@cache
def project_of(module: str) -> Path:
    """Return the folder of a module's project, or else the folder of the module."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    own = Path(spec.origin).resolve().parent
    for folder in (own, *own.parents):
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    return own


def _in_project(files: Iterable[Path], project: Path) -> list[str]:
    names = []
    for file in files:
        if not file.is_relative_to(project) or not file.is_file():
            continue
        parts = file.relative_to(project).parts
        is_library = any((project.joinpath(*parts[:n]) / "pyvenv.cfg").exists() for n in (1, 2))
        if not (is_library or any(part.startswith(".") or part in _FOREIGN for part in parts)):
            names.append("/".join(parts))
    return sorted(names)


@cache
def _listen() -> None:
    """Add an audit hook for opened files; Python has no way to remove it."""
    sys.addaudithook(_take)


def _take(event: str, arguments: tuple[Any, ...]) -> None:
    if not _taken or event not in ("open", "subprocess.Popen"):
        return
    if event == "open":
        path, mode, flags = arguments
        is_read = not (flags & _WRITES if isinstance(flags, int) else mode and "r" not in mode)
        if is_read and isinstance(path, str | bytes | os.PathLike):
            name = os.fsdecode(path)
            if not name.endswith((".py", ".pyc")):  # imported code is covered by the key
                _taken[-1].add(Path(name).resolve())
        return
    _, words, folder, _ = arguments  # the files that a command opens are unknown, but not its words
    for word in [words] if isinstance(words, str | bytes) else words or ():
        if isinstance(word, str | bytes | os.PathLike):
            name = os.fsdecode(word)
            if name and len(name) < 4096 and "\0" not in name:
                _taken[-1].add(Path(os.fsdecode(folder or "."), name).resolve())
