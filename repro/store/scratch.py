"""Temporary files and folders, which are renamed into the store when they are whole.

A name says who writes: host, process, and a random part. So what a killed writer left can be told
from what a live one is writing.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from repro.files import remove

ABANDONED_SECONDS = 3600
"""Age from which a file of another host counts as abandoned; writing takes a moment."""


class Scratch:
    """The temporary files and folders of a store."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "tmp"
        self.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def place(self) -> Iterator[Path]:
        """Yield a fresh path to write at and rename from; remove what is left there at the end."""
        path = self.folder / f"{socket.gethostname()}~{os.getpid()}~{secrets.token_hex(8)}"
        try:
            yield path
        finally:
            remove(path)

    def sweep(self) -> None:
        """Remove what killed writers left, but nothing that a live one is writing."""
        for path in self.folder.iterdir():
            if _is_abandoned(path):
                remove(path)


def _is_abandoned(path: Path) -> bool:
    host, _, rest = path.name.partition("~")
    pid = rest.partition("~")[0]
    if host == socket.gethostname() and pid.isdecimal():
        return not _is_alive(int(pid))
    try:
        return time.time() - path.lstat().st_mtime > ABANDONED_SECONDS
    except FileNotFoundError:
        return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # no process has a number that large
        return False
    except PermissionError:
        return True
    return True
