"""The results of runs on disk, verified before they are used.

The results of a run lie in the folder of its address, each with its trace: those of two branches
of a project side by side. A folder is written elsewhere and renamed into place when it is complete.
A damaged one is moved aside, and the run is trained again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from repro.files import Lock, remove, write_beside
from repro.store import run_files
from repro.store.checkpoints import Checkpoints, Scratch
from repro.store.errors import Report, explained, warn
from repro.store.key import digest_of, run_key
from repro.store.locks import Locks
from repro.store.run_files import UNKNOWN, Damaged, Made, Result

DEFAULT_STORE = ".repro"
"""The store of a project, in its folder."""

RUNS = "runs"
"""The folder of stored runs in a store."""

TRACES = "traces"
"""The folder of what made the stored results."""

KEY = re.compile(r"[0-9a-f]{64}(/[0-9a-f]{16})?")
"""The form of a key: an address, and what made the result, which earlier versions do not have."""

ENTRY_LETTERS = 16
"""The letters of the name of a result's folder."""

_NOTE = b"# Results are trained again where they miss.\n"
"""The first line of the file that keeps a store out of git."""


def project_above(start: Path) -> Path:
    """Return the nearest folder with a store or a repository, from this one up; else this one.

    >>> project_above(Path("claims").absolute()) == Path.cwd()
    True
    """
    for folder in (start, *start.parents):
        if (folder / DEFAULT_STORE).is_dir() or (folder / ".git").exists():
            return folder
    return start


def has_stored_runs(folder: Path) -> bool:
    """Return whether a folder is the folder of runs in a store.

    >>> has_stored_runs(Path("claims"))
    False
    """
    if folder.name != RUNS:
        return False
    try:
        return (folder.parent / ".gitignore").read_bytes().startswith(_NOTE)
    except OSError:
        return False


def _keep_from_git(root: Path) -> None:
    """Make git ignore a new store, like pytest's cache; a user may edit the file."""
    ignored = root / ".gitignore"
    if not ignored.exists():
        write_beside(ignored, _NOTE + b"*\n")


class Store:
    """Results by identity, in one folder that any number of processes may share.

    `report` gets one line for each damaged run or checkpoint. A session that trains a run holds its
    lock in `locks`; the trainer writes its state to `checkpoints`.

    >>> store = Store(folder)
    >>> key = store.put({"seed": 1}, {"accuracy": 0.5}, {"host": "here"})
    >>> store.get({"seed": 1}).values
    {'accuracy': 0.5}
    """

    def __init__(self, root: str | os.PathLike[str], *, report: Report = warn) -> None:
        self.root = Path(root).absolute()
        self._runs = self.root / RUNS
        self._runs_in_text = str(self._runs)
        self.report = report
        with explained(self.root):
            self._runs.mkdir(parents=True, exist_ok=True)
            _keep_from_git(self.root)
            self._scratch = Scratch(self.root)
            self._scratch.sweep()
        self.locks = Locks(self.root)
        self._traces: dict[str, dict[str, Any] | None] = {}
        self.checkpoints = Checkpoints(self.root, report=report)

    def get(self, identity: Mapping[str, Any]) -> Result | None:
        """Return the first stored result of a run, verified; None if there is none."""
        return next(iter(self.all_at(run_key(identity))), None)

    def all_at(self, address: str) -> list[Result]:
        """Return the stored results of a run, verified, in the order in which they were made."""
        with explained(self.root):
            try:
                names = os.listdir(self._path_in_text(address))
            except (FileNotFoundError, NotADirectoryError):
                return []
            found = [self._at(f"{address}/{x}") for x in names if len(x) == ENTRY_LETTERS]
        return sorted(filter(None, found), key=lambda x: (x.provenance.get("finished", ""), x.key))

    def trace(self, digest: str) -> dict[str, Any] | None:
        """Return a trace; None where it is missing or damaged."""
        if digest not in self._traces:
            try:
                trace = json.loads(self._trace_path(digest).read_text(encoding="utf-8"))
                is_sound = digest_of(trace) == digest
            except (OSError, ValueError, RecursionError):
                is_sound = False
            self._traces[digest] = trace if is_sound else None
        return self._traces[digest]

    def put_trace(self, trace: Mapping[str, Any]) -> str:
        """Store a trace, and return its digest."""
        digest = digest_of(trace)
        path = self._trace_path(digest)
        with explained(self.root):
            if self.trace(digest) is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_beside(path, json.dumps(trace, sort_keys=True, indent=1))
                self._traces[digest] = dict(trace)
        return digest

    def at(self, key: str) -> Result | None:
        """Return the result with this key, verified; None without one, or if it is damaged."""
        with explained(self.root):
            return self._at(key)

    def _at(self, key: str) -> Result | None:
        if not KEY.fullmatch(key):
            return None
        try:
            return run_files.read(self._path_in_text(key), key)
        except Damaged:
            # Another process may have moved it aside and stored a good one meanwhile. So it is read
            # again under the lock before it is moved.
            with self._entry_lock(key):
                return self._read_or_move_aside(key)

    def measured(self, key: str) -> Result | None:
        """Return the stored run with this key, without its weights, for claims and reports."""
        stored = self.at(key)
        return None if stored is None else replace(stored, weights=None)

    def put(
        self,
        identity: Mapping[str, Any],
        values: Mapping[str, Any],
        provenance: Mapping[str, Any],
        *,
        weights: bytes | None = None,
        made: Made = UNKNOWN,
    ) -> str:
        """Store a result, drop the run's checkpoint, and return the result's key.

        A result of the same making that is stored already stays unchanged.

        `weights` is a safetensors file of its parameters, if other runs start from it. On return
        everything is on the disk and survives a power cut.
        """
        key = run_files.key_of(identity, made)
        files = run_files.encode(identity, values, provenance, weights, made)
        path = self._path(key)
        with explained(self.root), self._scratch.place() as fresh:
            _write(fresh, files)
            with self._entry_lock(key):
                if self._read_or_move_aside(key) is None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    os.rename(fresh, path)
                    for folder in (path.parent, path.parent.parent, self._runs):
                        _sync_folder(folder)
        address = key.partition("/")[0]
        self.checkpoints.drop(address)
        remove(self._folder(address))
        return key

    def folder(self, key: str) -> Path:
        """Return the folder for files of an unfinished run's own, and make it if it is missing.

        It is removed when the run is stored. The run's lock should be held.
        """
        folder = self._folder(key)
        with explained(self.root):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def remove(self, key: str) -> None:
        """Remove the result with this key at once; the caller holds the run's lock."""
        with (
            explained(self.root),
            self._scratch.place() as aside,
            self._entry_lock(key),
            contextlib.suppress(FileNotFoundError),
        ):
            os.rename(self._path(key), aside)
            with contextlib.suppress(OSError):  # other results of the run are there
                self._path(key).parent.rmdir()

    def _folder(self, key: str) -> Path:
        return self.root / "folders" / key[:2] / key

    def _path(self, key: str) -> Path:
        return Path(self._path_in_text(key))

    def _path_in_text(self, key: str) -> str:
        return f"{self._runs_in_text}/{key[:2]}/{key}"  # 40,000 objects `Path` take two seconds

    def _trace_path(self, digest: str) -> Path:
        return self.root / TRACES / digest[:2] / f"{digest}.json"

    def _entry_lock(self, key: str) -> Lock:
        return self.locks.lock(f"{key.partition('/')[0]}.entry")

    def _read_or_move_aside(self, key: str) -> Result | None:
        """Return the stored run, verified; move a damaged one aside. Needs the entry's lock."""
        path = self._path(key)
        try:
            return run_files.read(path, key)
        except Damaged as damage:
            aside = self._free_place_aside(key)
            os.rename(path, aside)
            with contextlib.suppress(OSError):  # another user may own it
                os.utime(aside, follow_symlinks=False)  # `tidy` removes it by its age from now on
            self.report(
                f"The stored run {key} {damage}; it was moved to {aside} and will be trained again."
            )
            return None

    def _free_place_aside(self, key: str) -> Path:
        damaged = self.root / "damaged"
        damaged.mkdir(exist_ok=True)
        name, number = key.replace("/", "-"), 1
        while os.path.lexists(damaged / f"{name}-{number}"):
            number += 1
        return damaged / f"{name}-{number}"


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a new folder of files, with fsync."""
    folder.mkdir()
    for name, content in files.items():
        with (folder / name).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
