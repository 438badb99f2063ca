"""Errors of the data folder in one sentence, and locks for work that only one process should do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from repro import files
from repro.data.locate import DataError


def explained(folder: Path) -> AbstractContextManager[None]:
    """Turn an error of the file system below `folder` into a `DataError`.

    >>> with explained(Path("/nowhere")):
    ...     Path("/nowhere/file").touch()
    Traceback (most recent call last):
    repro.data.locate.DataError: /nowhere cannot be written to (No such file or directory); ...
    """
    return files.explained(
        DataError,
        full=(
            f"The disk of {folder} is full",
            "free some space, or let REPRO_DATA name another folder",
        ),
        refused=(
            f"{folder} cannot be written to",
            "make it a folder that you may write to, or let REPRO_DATA name another one",
        ),
    )


def readable(folder: Path) -> AbstractContextManager[None]:
    """Turn an error of reading below `folder` into a `DataError`.

    >>> with readable(Path("/nowhere")):
    ...     Path("/nowhere/file").read_bytes()
    Traceback (most recent call last):
    repro.data.locate.DataError: /nowhere cannot be read (No such file or directory); ...
    """
    refused = (
        f"{folder} cannot be read",
        "make it a folder that you may read, or let REPRO_DATA name another one",
    )
    return files.explained(DataError, full=refused, refused=refused)


@contextmanager
def locked(path: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock among processes; if another process holds it, call `waiting` once and wait.

    >>> with locked(folder / "a.lock", waiting=lambda: print("somebody is faster")):
    ...     print("mine")
    mine
    """
    with explained(path.parent):
        lock = files.try_lock(path)
    if lock is None:
        waiting()
        with explained(path.parent):
            lock = files.wait_for_lock(path)
    with lock:
        yield
