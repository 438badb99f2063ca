"""Whose turn it is to train: one process at a time on an accelerator, one for each core of a CPU.

Neighbours on an accelerator would add up to its memory; more processes than cores push each other's
numbers out of the caches (four on two cores took 1.1 to 1.2 times as long as two).
"""

from __future__ import annotations

import getpass
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from repro.store.locks import Lock, Locks

POLL_SECONDS = 0.1


class Turn:
    """Held while a batch trains, by as many processes at once as there are names."""

    def __init__(self, locks: Locks, names: Sequence[str]) -> None:
        self.locks, self.names = locks, names
        self.lock: Lock | None = None

    def __enter__(self) -> None:
        while (lock := next(filter(None, map(self.locks.try_lock, self.names)), None)) is None:
            time.sleep(POLL_SECONDS)
        self.lock = lock

    def __exit__(self, *_: object) -> None:
        assert self.lock is not None
        self.lock.release()
        self.lock = None


def turn_on(device: str, *, processes: int, session: str) -> Turn:
    """The turn of one of a session's processes, which all name the session alike.

    An accelerator is shared with everybody on the machine. A core is not: another session must not
    have to wait for the end of a long batch.

    >>> with turn_on("cpu", processes=4, session="c0ffee"):
    ...     train()
    """
    locks = Locks(Path(tempfile.gettempdir()) / f"repro-turns-{getpass.getuser()}")
    if device != "cpu":
        return Turn(locks, [device])
    return Turn(locks, [f"core-{n}-{session}" for n in range(min(processes, cores()))])


def cores() -> int:
    """Cores that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1
