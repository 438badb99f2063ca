"""Locks between the processes that share a store, by name. Nobody has to clean up after them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from repro import files
from repro.files import Lock
from repro.store.errors import StoreError, explained

__all__ = ["Lock", "Locks", "most_locks"]


def most_locks() -> int:
    """Return how many locks may be held at once: a lock is an open file, and others need some."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 256
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2


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
        """Take a lock without waiting; None where somebody holds it."""
        with explained(self.root):
            return files.try_lock(self.folder / name)

    def lock(self, name: str, *, timeout: float = 60.0) -> Lock:
        """Take a lock once its holder has let go; for work that takes a moment."""
        with explained(self.root):
            try:
                return files.wait_for_lock(self.folder / name, timeout=timeout)
            except TimeoutError as error:
                raise StoreError(
                    f"{self.folder / name} has been held for {timeout:g} s by {self.holder(name)};"
                    " end it if it hangs, and try again."
                ) from error

    def holder(self, name: str) -> str:
        """Return who holds a lock, in words."""
        return files.holder(self.folder / name)

    def sweep(self) -> None:
        """Remove the files of killed holders, each under its lock."""
        with explained(self.root):
            paths = list(self.folder.iterdir())
        for path in paths:
            with contextlib.suppress(OSError):  # a reader of the store may not write there
                if (lock := files.try_lock(path)) is not None:
                    lock.release()
