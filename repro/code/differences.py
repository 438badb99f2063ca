"""The differences between the definitions that something reached and those that it reaches now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from repro.code.before import Changes, ModulesBefore
from repro.code.modules import Modules
from repro.code.reached import Root, digest, walk

MOVED = "the way in which definitions refer to each other"
"""A change that no single definition shows, such as an import of another module's function."""


def changed_definitions(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the names of definitions that are not what they were; those that moved are.

    >>> changed_definitions({"old.f": "1", "old.g": "2"}, {"new.f": "1", "old.g": "3"})
    ['old.g']
    """
    gone = {name for name, text in then.items() if text not in now.values()}
    new = {name for name, text in now.items() if text not in then.values()}
    return sorted(gone | new)


@dataclass(frozen=True)
class Reached:
    """The reach of some roots: the changes within it, by name, and the folders of its files."""

    changed: tuple[str, ...]
    folders: frozenset[Path]


@dataclass
class Differences:
    """Compares what roots reach now with what they reached at a commit."""

    now: Modules
    changes: Changes
    _known: dict[frozenset[Root], Reached] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._before = ModulesBefore(self.now, self.changes)

    def of(self, roots: Iterable[Root]) -> Reached:
        """Return what the roots reach.

        >>> Differences(Modules(), changes).of([Root("line", "slope")]).changed
        ('line.slope',)
        """
        key = frozenset(roots)
        if key not in self._known:
            self._known[key] = self._compared(key)
        return self._known[key]

    def _compared(self, roots: frozenset[Root]) -> Reached:
        here = walk(roots, self.now)
        files = map(self.now.file, {module for module, _ in here.definitions})
        folders = frozenset(file.resolve().parent for file in files if file)
        if not self.changes.gone and not any(map(self._before.differs, here.imported)):
            return Reached((), folders)
        try:
            there = walk(roots, self._before)
        except ModuleNotFoundError:
            new = {root.module for root in roots if root.module not in self._before}
            return Reached(tuple(sorted(new)), folders)
        if digest(here.digests()) == digest(there.digests()):
            return Reached((), folders)
        return Reached(
            tuple(changed_definitions(there.contents(), here.contents()) or [MOVED]), folders
        )
