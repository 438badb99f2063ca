"""The claims that reach what changed since a commit, each with the changes that it reaches.

A claim reaches definitions through its test, through fixtures and conftest files, and through its
arms, as the keys of their runs do. It also reaches files that are no Python, and its own entry in
the ledger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from repro.arm import Arm, Needs
from repro.code import Modules, Root
from repro.code.before import Changes
from repro.code.differences import Differences, Reached
from repro.data.locate import DataError
from repro.ledger import changed_entries, is_ledger
from repro.own.arm import OwnArm
from repro.plugin.call import needed_of_pytest
from repro.plugin.claims import BadClaim, name_or_none
from repro.plugin.survey import Survey, starts_of
from repro.recorded.arm import RecordedArm
from repro.recorded.pattern import Pattern
from repro.recorded.source import Recorded
from repro.runs.identity import roots, types_of

JUDGING = (
    Root("repro.plugin.trials", "Trials"),
    Root("repro.plugin.gate", "Gate"),
    Root("repro.judge", "Judge"),
    Root("repro.document", "Document"),
)
"""The package that every verdict comes from; it may be developed in the same repository."""

SETTINGS = (
    *("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"),
    *("*.lock", "requirements*.txt", "constraints*.txt", "environment*.y*ml"),
)
"""Files of a project's folder that settle how its claims are run, and with which packages."""

PROSE = (".md", ".rst")
"""The endings of files that no claim reads."""


@dataclass(frozen=True)
class ReadAhead:
    """The arms of a claim, and why there may be more than these."""

    arms: Sequence[Arm] = ()
    unknown: str = ""


class Affected:
    """Tells which changes each claim of a session reaches.

    >>> Affected(changes, claims, survey, project=folder, conftests=[]).by(claims[0])
    ['line.slope']
    """

    def __init__(
        self,
        changes: Changes,
        claims: Sequence[pytest.Item],
        survey: Survey,
        *,
        project: Path,
        conftests: Sequence[ModuleType],
    ) -> None:
        self.changes = changes
        self._read = {item: _read(item, survey) for item in claims}
        arms = [arm for read in self._read.values() for arm in read.arms]
        # conftest files of several folders may all be called conftest
        of_conftests = {
            f"{x.__name__}#{n}": Path(x.__file__ or "") for n, x in enumerate(conftests)
        }
        of_claims = {_module_of(item).__name__: item.path for item in claims}
        tops = {root.module.partition(".")[0] for arm in arms for root in _roots_of(arm)}
        self._differences = Differences(Modules(tops, files=of_conftests | of_claims), changes)
        self._in_conftests = {
            file.parent: self._differences.of([Root(name)]).changed
            for name, file in of_conftests.items()
        }
        self._settings = [path for path in changes.paths if _is_setting(path, changes, project)]
        self._files = [
            path
            for path in sorted(changes.paths)
            if path.suffix not in (".py", *PROSE)
            and not is_ledger(path)
            and path not in self._settings
        ]
        sources = {arm.source for arm in arms if isinstance(arm, RecordedArm)}
        self._sources = {
            path: {source for source in sources if _is_read_by(source, path)}
            for path in self._files
        }
        self._entries = changed_entries(filter(is_ledger, changes.paths), then=changes.text)

    def by(self, item: pytest.Item) -> list[str]:
        """Return the changes that a claim reaches, by name; none where it reaches none."""
        read = self._read[item]
        reached = [self._differences.of(self._roots_of_test(item))]
        reached += [self._differences.of(_roots_of(arm)) for arm in read.arms]
        reached += [self._differences.of(JUDGING)]
        names = [read.unknown, *map(self._name, self._settings)]
        names += [name for each in reached for name in each.changed]
        names += [
            name
            for folder, changed in self._in_conftests.items()
            if item.path.is_relative_to(folder)
            for name in changed
        ]
        files = self._files_of(read.arms, reached[:-1])
        names += [self._name(path) for path in files if path in self.changes.paths]
        if (claim := name_or_none(item)) in self._entries:
            names.append(f"the ledger's entry of {claim}")
        return list(dict.fromkeys(filter(None, names)))

    def _roots_of_test(self, item: pytest.Item) -> Iterator[Root]:
        """Yield what a test starts from, but for its arms: itself, and its fixtures."""
        assert isinstance(item, pytest.Function)
        module = _module_of(item).__name__
        parts = [item.cls.__qualname__] if item.cls else []
        yield Root(module, ".".join([*parts, item.originalname]))
        yield Root(module, "pytestmark")
        for fixtures in item._fixtureinfo.name2fixturedefs.values():
            for each in fixtures:
                place = getattr(each.func, "__module__", "")
                if place in self._differences.now and not place.startswith("repro."):
                    yield Root(place, each.func.__qualname__)

    def _files_of(self, arms: Sequence[Arm], reached: Sequence[Reached]) -> Iterator[Path]:
        """Yield the files that a claim may read, but for modules of Python."""
        folders = {folder for each in reached for folder in each.folders}
        sources = {arm.source for arm in arms if isinstance(arm, RecordedArm)}
        for arm in arms:
            if isinstance(arm, OwnArm):  # its script may be one of them
                yield from (path.resolve() for path in arm.files_read())
        for path in self._files:
            is_named = self._sources[path] or path in self.changes.unknown
            is_of_folder = not is_named and _owner(path, self.changes.root) in folders
            if is_of_folder or self._sources[path] & sources:
                yield path

    def _name(self, path: Path) -> str:
        return path.relative_to(self.changes.root).as_posix()


def _read(item: pytest.Item, survey: Survey) -> ReadAhead:
    """Return the arms of a claim, with those that they start from."""
    takes_trials = "trials" in getattr(item, "fixturenames", ())
    if takes_trials and (needed := needed_of_pytest(item)):
        return ReadAhead(unknown=f"arms that depend on {', '.join(needed)}")
    try:
        trials = survey.read(item)
    except (BadClaim, Needs, DataError):  # it says so itself, or is not run
        return ReadAhead()
    if trials is None:
        return ReadAhead()
    starts = [run.arm for arm in trials.arms for run in starts_of(arm)]
    unknown = f"arms behind {trials.stops_at}" if trials.stops_at else ""
    return ReadAhead(list(dict.fromkeys([*trials.arms, *starts])), unknown)


@cache
def _roots_of(arm: Arm) -> Sequence[Root]:
    return () if isinstance(arm, RecordedArm) else roots(frozenset(types_of(arm)))


def _module_of(item: pytest.Item) -> ModuleType:
    assert isinstance(item, pytest.Function)
    module: ModuleType = item.module
    return module


def _is_setting(path: Path, changes: Changes, project: Path) -> bool:
    is_at_the_top = path.parent in (changes.root, project.resolve())
    return is_at_the_top and any(fnmatch(path.name, each) for each in SETTINGS)


def _is_read_by(source: object, path: Path) -> bool:
    """Return whether a source of recorded runs has a file, or a folder that it lies in."""
    if not isinstance(source, Recorded):
        return False
    pattern = Pattern(os.path.normpath(source.folder.resolve() / source.path))
    return any(pattern.fields_of(str(each)) is not None for each in (path, *path.parents))


@cache
def _owner(path: Path, root: Path) -> Path:
    """Return the folder of Python modules that a file belongs to: its own, or one above it."""
    folder = path.parent
    while folder != root and not any(folder.glob("*.py")):
        folder = folder.parent
    return folder
