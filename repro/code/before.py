"""The source of a project as it was at a commit: what differs from it, and the modules of then."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from repro.code.modules import Module, Modules, parse
from repro.git import GitError, git, git_bytes


@dataclass
class Changes:
    """The files of a repository that differ from a commit, those that git ignores left out."""

    root: Path
    commit: str
    paths: frozenset[Path]
    unknown: frozenset[Path] = frozenset()
    """Return the paths among these that git does not know yet."""
    _texts: dict[Path, bytes | None] = field(default_factory=dict)

    @classmethod
    def since(cls, folder: Path, ref: str) -> Changes:
        """Return what differs from where a branch left `ref`; raises `GitError`.

        Changes that are not committed count, and files that git does not know yet.

        >>> Changes.since(Path("."), "origin/main").paths
        frozenset({PosixPath('/home/me/project/line.py')})
        """
        root = Path(git(folder, "rev-parse", "--show-toplevel")).resolve()
        try:
            git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        except GitError:
            raise GitError(f"There is no commit {ref} here: fetch it first.") from None
        try:
            commit = git(root, "merge-base", ref, "HEAD")
        except GitError:
            raise GitError(
                f"{ref} and HEAD have no commit in common here: fetch the whole history"
                " (fetch-depth: 0 of actions/checkout)."
            ) from None
        differ = git(root, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", commit)
        unknown = git(root, "ls-files", "--others", "--exclude-standard", "-z")
        paths, new = (
            frozenset(root / name for name in names.split("\0") if name)
            for names in (differ, unknown)
        )
        return cls(root, commit, paths | new, new)

    def text(self, path: Path) -> bytes | None:
        """Return what a file was at the commit; None where there was none."""
        if path not in self._texts:
            name = path.relative_to(self.root).as_posix()
            try:
                self._texts[path] = git_bytes(
                    self.root, "cat-file", "blob", f"{self.commit}:{name}"
                )
            except GitError:
                self._texts[path] = None
        return self._texts[path]

    @cached_property
    def gone(self) -> frozenset[Path]:
        """The files that are not here any more."""
        return frozenset(path for path in self.paths if not path.exists())

    def of_module(self, name: str, file: Path | None) -> Path | None:
        """Return the path of a module among the changes; None where it has not changed.

        One that is installed elsewhere, or that is gone, is known by the end of its path.
        """
        if file is not None and (path := file.resolve()).is_relative_to(self.root):
            return path if path in self.paths else None
        paths = self.paths if file is not None else self.gone
        parts = name.split(".")
        ends = ((*parts[:-1], f"{parts[-1]}.py"), (*parts, "__init__.py"))
        alike = [path for path in paths if any(path.parts[-len(x) :] == x for x in ends)]
        return min(alike, default=None, key=lambda path: (len(path.parts), path))


class ModulesBefore(Modules):
    """The modules as they were at the commit; what has not changed since is not parsed again."""

    def __init__(self, now: Modules, changes: Changes) -> None:
        super().__init__()
        self._now, self._changes = now, changes
        self._differ: dict[str, bool] = {}

    def __getitem__(self, name: str) -> Module:
        if name not in self._parsed:
            path = self._changes.of_module(name, self._now.file(name))
            text = None if path is None else self._changes.text(path)
            if path is None or text is None:
                return self._now[name]
            self._parsed[name] = parse(name, path, text)
        return self._parsed[name]

    def differs(self, name: str) -> bool:
        """Return whether the file of a module that is here now is not what it was."""
        if name not in self._differ:
            self._differ[name] = bool(self._changes.of_module(name, self._now.file(name)))
        return self._differ[name]

    def file(self, name: str) -> Path | None:
        """The source file that a module had; None where there was none."""
        if name not in self._files:
            now = self._now.file(name)
            changed = self._changes.of_module(name, now)
            was_there = changed is None or self._changes.text(changed) is not None
            self._files[name] = (now or changed) if was_there else None
        return self._files[name]
