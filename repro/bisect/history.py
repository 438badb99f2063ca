"""The commits of a range, and worktrees of them that nobody else uses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from repro.bisect.errors import SearchError
from repro.git import git


@dataclass(frozen=True)
class Commit:
    """One commit, as a reader needs it."""

    name: str
    short: str
    author: str
    date: str
    subject: str
    parents: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.short} {self.date} {self.author}: {self.subject}"


@dataclass
class History:
    """The commits from a good one to a bad one, on the first-parent line of the bad one."""

    folder: Path
    """The folder in which the command was given; the same one is used in each worktree."""
    commits: list[Commit]
    _root: Path = field(init=False)

    def __post_init__(self) -> None:
        self._root = Path(git(self.folder, "rev-parse", "--show-toplevel"))

    @classmethod
    def of(cls, folder: Path, span: str) -> History:
        """Read a range `good..bad`; raises `SearchError` where it is none."""
        good, dots, bad = span.partition("..")
        if not (good and dots and bad) or bad.startswith("."):
            raise SearchError(f"{span!r} is no range of commits: write good..bad.")
        git(folder, "rev-parse", "--git-dir")
        names = [git(folder, "rev-parse", "--verify", f"{end}^{{commit}}") for end in (good, bad)]
        between = git(folder, "rev-list", "--reverse", "--first-parent", "..".join(names)).split()
        if names[0] not in git(folder, "rev-list", names[1]).split() or not between:
            raise SearchError(f"{good} is no ancestor of {bad}: nothing lies between them.")
        return cls(folder, [_commit(folder, name) for name in (names[0], *between)])

    @contextmanager
    def worktrees(self) -> Iterator[Worktrees]:
        """Make worktrees in a folder of their own, which is removed at the end."""
        with tempfile.TemporaryDirectory(prefix="repro-bisect-") as place:
            trees = Worktrees(self._root, self.folder.resolve(), Path(place).resolve())
            try:
                yield trees
            finally:
                trees.remove()


@dataclass
class Worktrees:
    """Worktrees by commit; the user's own is not touched."""

    root: Path
    folder: Path
    place: Path
    made: dict[str, Path] = field(default_factory=dict)

    def at(self, commit: Commit) -> Path:
        """Return the folder of the command, as it is at a commit."""
        if commit.name not in self.made:
            path = self.place / commit.short
            options = ("--detach", "--force", "--quiet")
            # no hook of the user's is to run in it
            git(self.root, "-c", "core.hooksPath=/dev/null", "worktree", "add", *options,
                 str(path), commit.name)  # fmt: skip
            self.made[commit.name] = path
        return self.made[commit.name] / self.folder.relative_to(self.root.resolve())

    def search_path(self, commit: Commit) -> str:
        """Return Python's path for a process there: the commit's tree in place of the user's."""
        here = self.at(commit)
        parts = [str(here)]
        for part in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
            path = Path(part).resolve()
            if path.is_relative_to(self.root.resolve()):
                path = self.made[commit.name] / path.relative_to(self.root.resolve())
            parts.append(str(path))
        return os.pathsep.join(dict.fromkeys(parts))

    def remove(self) -> None:
        """Remove all worktrees, and what git keeps of them."""
        for path in self.made.values():
            git(self.root, "worktree", "remove", "--force", str(path))
        self.made.clear()


def _commit(folder: Path, name: str) -> Commit:
    shown = git(folder, "show", "--no-patch", "--date=short",
                 "--format=%H%x00%h%x00%an%x00%ad%x00%s%x00%P", name)  # fmt: skip
    full, short, author, date, subject, parents = shown.split("\0")
    return Commit(full, short, author, date, subject, tuple(parents.split()))
