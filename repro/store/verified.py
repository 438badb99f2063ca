"""The index of verified runs: their contents, and how their files looked when they were verified.

To verify a run takes four files and five hashes. A run in this index takes a look at the times,
sizes and inodes of its files: while they are what they were, nobody has written to them. The index
is made of the files and is never needed. It is `verified.sqlite` in the store's folder; whatever is
wrong with it, it is left alone or made anew, and the files are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from repro.store.entry import FILES, Result

NAME = "verified.sqlite"

SETTLED_SECONDS = 2.0
"""Age from which a file's time of change tells whether it was changed since: clocks are coarse."""

MOST_PENDING = 500
"""The verified runs that are kept in memory until they are written at once."""

MOST_ASKED = 500
"""The keys that are asked for at once: SQLite takes 999 values in any version."""

BUSY_SECONDS = 1.0
"""Time to wait for another process that writes to the index."""

_TABLE = """
create table if not exists verified (key text primary key, digest blob, content blob)
without rowid
"""
_SELECT = "select key, digest, content from verified where key in"
_ROW = "insert or replace into verified values (?, ?, ?)"

_PLACES = ("", *(f"/{name}" for name in FILES))
"""A run's folder and its files, from its folder on."""

Looks = str
"""The inodes, sizes and times of a run's folder and files."""


class Verified:
    """The verified runs of one store, for any number of processes.

    >>> verified = Verified(folder)
    >>> verified.keep(result, looks_of(place))
    >>> verified.get({result.key: looks_of(place)}) == {result.key: result}
    True
    """

    def __init__(self, root: Path) -> None:
        self._path = root / NAME
        self._pending: dict[str, tuple[Looks, Result]] = {}
        self._database: sqlite3.Connection | None = None
        self._owner = 0
        """The process that opened the database; a forked child opens it for itself."""
        self._is_usable = True

    def get(self, looks: Mapping[str, Looks]) -> dict[str, Result]:
        """Return the verified runs among these keys whose files look as they did then."""
        found = {
            key: self._pending[key][1]
            for key, seen in looks.items()
            if key in self._pending and self._pending[key][0] == seen
        }
        asked = [key for key in looks if key not in self._pending]
        database = self._open() if asked else None
        for key, digest, content in self._rows(database, asked) if database else ():
            if digest == _digest(key, looks[key], content):
                found[key] = Result(key, *json.loads(zlib.decompress(content)))
        return found

    def _rows(
        self, database: sqlite3.Connection, keys: Sequence[str]
    ) -> list[tuple[str, bytes, bytes]]:
        """Return what the index has of these keys; nothing where it cannot be read."""
        rows: list[tuple[str, bytes, bytes]] = []
        try:
            for start in range(0, len(keys), MOST_ASKED):
                some = keys[start : start + MOST_ASKED]
                marks = ",".join("?" * len(some))
                rows += database.execute(f"{_SELECT} ({marks})", some).fetchall()
        except sqlite3.Error as error:
            self._give_up(error)
            return []
        return rows

    def keep(self, result: Result, looks: Looks) -> None:
        """Note a run that was verified, with the looks that its files had before."""
        if self._is_usable and time.time() - _newest(looks) > SETTLED_SECONDS:
            self._pending[result.key] = looks, result
            if len(self._pending) >= MOST_PENDING:
                self.write()

    def forget(self, key: str) -> None:
        """Remove a run from the index."""
        self._pending.pop(key, None)
        if (self._path).exists() and (database := self._open()) is not None:
            self._write_now(database, "delete from verified where key = ?", [(key,)])

    def write(self) -> None:
        """Write what was noted, for the processes and sessions to come."""
        if self._pending and (database := self._open()) is not None:
            rows = [_row(result, looks) for looks, result in self._pending.values()]
            self._write_now(database, _ROW, rows)
        self._pending.clear()

    def _write_now(self, database: sqlite3.Connection, text: str, rows: Sequence[object]) -> None:
        try:
            with database:
                database.executemany(text, rows)  # type: ignore[arg-type]
        except sqlite3.Error as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection | None:
        """Return the database, opened in this process; None where it cannot be used."""
        if not self._is_usable:
            return None
        if self._database is None or self._owner != os.getpid():
            try:
                self._database = sqlite3.connect(
                    self._path, timeout=BUSY_SECONDS, check_same_thread=False
                )
                self._owner = os.getpid()
                self._database.execute("pragma synchronous = off")  # it can be made anew
                self._database.execute(_TABLE)
            except sqlite3.Error as error:
                self._give_up(error)
        return self._database

    def _give_up(self, error: sqlite3.Error) -> None:
        """Read the files from now on; a damaged index is removed, so that a new one is made."""
        self._is_usable, self._database = False, None
        self._pending.clear()
        is_damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if is_damaged:
            with suppress(OSError):
                self._path.unlink()


def looks_of(folder: str) -> Looks | None:
    """Return how a run's folder and files look; None where one of them is missing.

    >>> looks_of("nowhere")
    """
    try:
        looks = [os.lstat(folder + name) for name in _PLACES]
    except OSError:
        return None
    return " ".join([f"{x.st_ino} {x.st_size} {x.st_mtime_ns} {x.st_ctime_ns}" for x in looks])


def _newest(looks: Looks) -> float:
    """Return the time of the last change, in seconds since 1970."""
    numbers = [*map(int, looks.split())]
    return max(*numbers[2::4], *numbers[3::4]) / 1e9


def _row(result: Result, looks: Looks) -> tuple[str, bytes, bytes]:
    parts = [result.identity, result.values, result.provenance]
    content = zlib.compress(json.dumps(parts, separators=(",", ":")).encode(), 1)
    return result.key, _digest(result.key, looks, content), content


def _digest(key: str, looks: Looks, content: bytes) -> bytes:
    """Return what a row is held against: it is another one where files or row were changed."""
    hasher = hashlib.sha256(f"{key} {looks} ".encode())
    hasher.update(content)
    return hasher.digest()[:16]
