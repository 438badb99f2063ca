"""Slots to train in: one for an accelerator, one for each core of a CPU.

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


class TrainingSlots:
    """Slots by name, each for one process at a time."""

    def __init__(self, locks: Locks, names: Sequence[str]) -> None:
        self.locks, self.names = locks, names
        self.lock: Lock | None = None

    @property
    def count(self) -> int:
        """The number of processes that may train at once."""
        return len(self.names)

    def take(self) -> None:
        """Wait for a slot, unless this process has one."""
        while self.lock is None:
            locks = map(self.locks.try_lock, self.names)
            self.lock = next((lock for lock in locks if lock is not None), None)
            if self.lock is None:
                time.sleep(POLL_SECONDS)

    def give_back(self) -> None:
        """Let another process have the slot."""
        if self.lock is not None:
            self.lock.release()
        self.lock = None


def slots_on(device: str, *, processes: int, session: str) -> TrainingSlots:
    """Return the slots of a session's processes, which all name the session alike.

    An accelerator is shared with everybody on the machine. A core is not: another session must not
    have to wait for the end of a long batch.

    >>> slots = slots_on("cpu", processes=4, session="c0ffee")
    >>> slots.take()
    """
    locks = Locks(Path(tempfile.gettempdir()) / f"repro-slots-{getpass.getuser()}")
    if device != "cpu":
        return TrainingSlots(locks, [device])
    return TrainingSlots(locks, [f"core-{n}-{session}" for n in range(min(processes, cores()))])


def cores() -> int:
    """Return how many cores this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1
