"""Locks by name, between the processes that share a store; they need no clean-up."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

from repro import files
from repro.store.errors import StoreError, explained


def most_locks() -> int:
    """Return the largest number of locks at once: half of the files that a process may open."""
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

    def try_lock(self, name: str) -> files.Lock | None:
        """Take a lock without waiting; None if it is held."""
        with explained(self.root):
            return files.try_lock(self.folder / name)

    def lock(self, name: str, *, timeout: float = 60.0) -> files.Lock:
        """Wait for a lock and take it; for work that takes a moment."""
        with explained(self.root):
            try:
                return files.wait_for_lock(self.folder / name, timeout=timeout)
            except TimeoutError as error:
                raise StoreError(
                    f"{self.folder / name} has been held for {timeout:g} s by {self.holder(name)};"
                    " end it if it hangs, and try again."
                ) from error

    def holder(self, name: str) -> str:
        """Return the holder of a lock, in words."""
        return files.holder(self.folder / name)
