"""Checkpoints of unfinished runs, and the temporary files of a store.

There is no `fsync`: the files of a process survive its `kill -9` anyway. After a power cut a torn
checkpoint fails its checksum, which costs only the time that it would have saved.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from repro.files import remove
from repro.store.errors import Report, explained

_DIGEST_BYTES = hashlib.sha256().digest_size


class Checkpoints:
    """The checkpoints of a store: bytes by run key. The run's lock should be held.

    >>> checkpoints = Checkpoints(folder, report=print)
    >>> checkpoints.save("5e1f", b"weights")
    >>> checkpoints.load("5e1f")
    b'weights'
    """

    def __init__(self, root: Path, *, report: Report) -> None:
        self.root = root
        self.report = report
        with explained(root):
            self._scratch = Scratch(root)

    def save(self, key: str, payload: bytes) -> None:
        """Write a checkpoint in place of the last one."""
        path = self._path(key)
        with explained(self.root), self._scratch.place() as fresh:
            with fresh.open("xb") as file:
                file.write(_digest(key, payload))
                file.write(payload)
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(fresh, path)

    def load(self, key: str) -> bytes | None:
        """Return the last checkpoint; None without one, or with a report if it is damaged."""
        path = self._path(key)
        with explained(self.root):
            try:
                with path.open("rb") as file:
                    digest, payload = file.read(_DIGEST_BYTES), file.read()
            except FileNotFoundError:
                return None
        if digest != _digest(key, payload):
            self.drop(key)
            self.report(f"The checkpoint {path} is damaged; the run will start again.")
            return None
        return payload

    def drop(self, key: str) -> None:
        """Remove the checkpoint of a run, if there is one."""
        with explained(self.root):
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.root / "checkpoints" / key[:2] / key


def _digest(key: str, payload: bytes) -> bytes:
    # With the key, the checkpoint of another run does not verify.
    hasher = hashlib.sha256(key.encode())
    hasher.update(payload)
    return hasher.digest()


ABANDONED_SECONDS = 24 * 60 * 60
"""An older temporary file is from a killed process, since writing takes a moment."""


class Scratch:
    """The temporary files and folders of a store."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "tmp"
        self.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def place(self) -> Iterator[Path]:
        """Yield a new path to write at and rename from; remove it at the end if it still exists."""
        path = self.folder / secrets.token_hex(8)
        try:
            yield path
        finally:
            remove(path)

    def sweep(self) -> None:
        """Remove the temporary files of killed processes."""
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):  # its writer has just removed it
                if time.time() - path.lstat().st_mtime > ABANDONED_SECONDS:
                    remove(path)
