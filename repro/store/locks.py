"""Locks between processes that nobody has to clean up after.

The kernel holds them (`flock`) and lets go when their process ends, also by `kill -9`. They
exclude other processes and other holders of the same process alike.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from repro.store.errors import StoreError, explained


class Lock:
    """A lock that is held, until `release` or the end of its `with` block."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Let others in; a second call does nothing."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            # Removed while it is still held: whoever opened this file sees in `try_lock` that it
            # has gone and opens the next.
            self._path.unlink(missing_ok=True)
        finally:
            # A child that was forked meanwhile shares the descriptor: closing ours would not do.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


class Locks:
    """The locks of a store, by name.

    >>> locks = Locks(folder)
    >>> with locks.try_lock("a-run"):
    ...     print(locks.try_lock("a-run"))
    None
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "locks"
        with explained(root):
            self.folder.mkdir(parents=True, exist_ok=True)

    def try_lock(self, name: str) -> Lock | None:
        """The lock, or None where somebody holds it; never waits."""
        path = self.folder / name
        with explained(self.root):
            while True:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if _is_at(descriptor, path):
                        return Lock(path, descriptor)
                except BlockingIOError:
                    os.close(descriptor)
                    return None
                except BaseException:
                    os.close(descriptor)
                    raise
                os.close(descriptor)  # its last holder removed the file before we got the lock

    def lock(self, name: str, *, timeout: float = 60.0) -> Lock:
        """The lock, once whoever holds it has let go; for work that takes a moment."""
        deadline = time.monotonic() + timeout
        while (lock := self.try_lock(name)) is None:
            if time.monotonic() > deadline:
                raise StoreError(
                    f"Another process has held {self.folder / name} for {timeout:g} s; end it if"
                    " it hangs, and try again."
                )
            time.sleep(0.002)
        return lock


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
