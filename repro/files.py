"""Files that several processes share: locks, whole writes, and errors in one sentence.

Locks are the operating system's own, through `filelock` (3.32 or later). A lock ends with the
process that holds it, also by `kill -9`, and a forked child does not inherit it. It excludes other
processes and other holders in the same process alike.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from filelock import FileLock

POLL_SECONDS = 0.01
"""Seconds between two attempts to take a lock."""

UNKNOWN = "another process"
"""Stands for a holder that is not known."""

_ATTEMPTS = 100
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_IN_PLACE = {errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
"""Errors of a file where a folder should be, or the reverse; the message must name its path."""


class Lock:
    """A lock, held until `release` or the end of its `with` block."""

    def __init__(self, held: FileLock) -> None:
        self._held = held

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._held.is_locked:  # never in a forked child: the lock is its parent's
            # The file is removed while the lock is held. If another process has opened it already,
            # it notices after locking that the file has no name any more, and opens a new one. A
            # file that cannot be removed stays, and does no harm.
            with contextlib.suppress(OSError):
                os.unlink(self._held.lock_file)
            self._held.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def try_lock(path: Path) -> Lock | None:
    """Take the lock of this file without waiting; None if it is held.

    >>> with try_lock(folder / "a.lock"):
    ...     print(try_lock(folder / "a.lock"))
    None
    """
    try:
        return wait_for_lock(path, timeout=0)
    except TimeoutError:
        return None


def wait_for_lock(path: Path, *, timeout: float | None = None) -> Lock:
    """Take the lock of this file; raises `TimeoutError` if it is held for longer than `timeout`.

    >>> wait_for_lock(folder / "a.lock").release()
    """
    from filelock import FileLock, Timeout  # not for a session of pytest without claims

    attempts = 0
    while True:
        attempts += 1
        # Separate instances exclude each other within one process. A soft lock, without the kernel,
        # would outlive a killed process.
        lock = FileLock(
            path.absolute(), thread_local=False, is_singleton=False, fallback_to_soft=False
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(-1 if timeout is None else timeout, POLL_SECONDS)
        except Timeout as error:
            raise TimeoutError(f"{path} is held") from error
        except (FileNotFoundError, FileExistsError):
            if attempts == _ATTEMPTS:
                raise
            continue  # another process has just removed the empty folder
        _sign(path)
        return Lock(lock)


def holder(path: Path) -> str:
    """Return the holder of the lock of this file, in words.

    >>> with try_lock(folder / "a.lock"):
    ...     holder(folder / "a.lock").startswith("process ")
    True
    """
    try:
        return path.read_text() or UNKNOWN
    except (OSError, ValueError):
        return UNKNOWN


def _sign(path: Path) -> None:
    """Write this process into the lock file as its holder; on a full disk, write nothing."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        try:
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
        finally:
            os.close(descriptor)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yield a new path beside `path`; the file or folder written there replaces it at the end.

    After an error `path` is unchanged and the new file is removed. A folder cannot be replaced in
    one step: for a moment there is none. If another process puts one there, that one stays.

    >>> with beside(folder / "numbers") as fresh:
    ...     _ = fresh.write_text("1 2 3")
    >>> (folder / "numbers").read_text()
    '1 2 3'
    """
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    old = fresh.with_suffix(".old")
    try:
        yield fresh
        if path.is_dir():
            path.rename(old)
        try:
            fresh.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                old.rename(path)
            raise
    finally:
        remove(fresh)
        remove(old)


def write_beside(path: Path, content: bytes | str) -> None:
    """Write a file so that readers see the old or the new content, never a part.

    >>> write_beside(folder / "numbers", "1 2 3")
    >>> (folder / "numbers").read_text()
    '1 2 3'
    """
    with beside(path) as fresh:
        fresh.write_bytes(content.encode() if isinstance(content, str) else content)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it exists and the system allows it.

    >>> remove(folder / "nothing of that name")
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


@contextmanager
def explained(
    raised: type[Exception], *, full: tuple[str, str], refused: tuple[str, str]
) -> Iterator[None]:
    """Turn an `OSError` into one sentence: what happened, the system's reason, and what to do.

    `full` has these words for a full disk, `refused` for any other error.

    >>> with explained(ValueError, full=("", ""), refused=("It cannot be read", "make it a file")):
    ...     Path("/nowhere/at/all").read_text()
    Traceback (most recent call last):
    ValueError: It cannot be read (No such file or directory); make it a file.
    """
    try:
        yield
    except OSError as error:
        what, advice = full if error.errno in _FULL else refused
        why = error.strerror or str(error)
        if error.errno in _IN_PLACE and error.filename is not None:
            why += f": {os.fsdecode(error.filename)}"
        raise raised(f"{what} ({why}); {advice}.") from error
