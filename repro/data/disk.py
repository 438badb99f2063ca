"""What the disk refuses, said in one sentence; and a lock that nobody has to clean up after."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from repro.data.locate import DataError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses below `folder` into a `DataError`.

    >>> with explained(Path("/nowhere")):
    ...     Path("/nowhere/file").touch()
    Traceback (most recent call last):
    repro.data.locate.DataError: /nowhere cannot be written to (No such file or directory); ...
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DataError(
                f"The disk of {folder} is full ({error.strerror}); free some space, or let"
                " REPRO_DATA name another folder."
            ) from error
        raise DataError(
            f"{folder} cannot be written to ({error.strerror or error}); make it a folder that you"
            " may write to, or let REPRO_DATA name another one."
        ) from error


@contextmanager
def locked(path: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock among processes; `waiting` is called once where another one holds it.

    The kernel holds it and lets go when its process ends, also by `kill -9`.

    >>> with locked(folder / "a.lock", waiting=lambda: print("somebody is faster")):
    ...     print("mine")
    mine
    """
    descriptor, is_told = -1, False
    try:
        while True:
            with explained(path.parent):
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                except (FileNotFoundError, FileExistsError):
                    if os.path.lexists(path.parent) and not path.parent.is_dir():
                        raise
                    continue  # whoever let go has just removed the empty folder
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not is_told:
                        waiting()
                    is_told = True
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, path):
                break
            os.close(descriptor)  # its last holder removed the file before we got the lock
            descriptor = -1
        yield
    finally:
        if descriptor >= 0:
            path.unlink(missing_ok=True)  # while it is held: whoever waits for it sees it gone
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
