"""Where things are written before they are renamed into place, and what killed writers left there.

A name says who writes: host, process, and a random part. So what a dead process left can be told
from what a live one is writing.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ABANDONED_SECONDS = 3600
"""Age at which what another host left is taken for abandoned; writing takes a moment."""


class Scratch:
    """The temporary files and folders of a store."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "tmp"
        self.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def place(self) -> Iterator[Path]:
        """A fresh path to write at and rename from; what is left at the end is removed."""
        path = self.folder / f"{socket.gethostname()}~{os.getpid()}~{secrets.token_hex(8)}"
        try:
            yield path
        finally:
            _remove(path)

    def sweep(self) -> None:
        """Remove what killed writers left, never what a live one is writing."""
        for path in self.folder.iterdir():
            if _is_abandoned(path):
                _remove(path)


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


def _remove(path: Path) -> None:
    # Another process may sweep the same path, or own it: what cannot be removed stays for later.
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
