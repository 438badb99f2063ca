"""Slots to train in: one for an accelerator, one for each core of a CPU.

Neighbours on an accelerator would add up to its memory; more processes than cores push each other's
numbers out of the caches (four on two cores took 1.1 to 1.2 times as long as two).
"""

from __future__ import annotations

import math
import os
import stat
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from repro.runs.backend import TrainingStopped
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

    def take(self, seconds: float = math.inf) -> bool:
        """Wait for a slot, unless this process has one; return whether it has one now."""
        began = time.monotonic()
        while self.lock is None:
            locks = map(self.locks.try_lock, self.names)
            self.lock = next((lock for lock in locks if lock is not None), None)
            if self.lock is None:
                if time.monotonic() - began > seconds:
                    return False
                time.sleep(POLL_SECONDS)
        return True

    @property
    def holders(self) -> str:
        """The processes that have the slots, in words."""
        return " and ".join(dict.fromkeys(map(self.locks.holder, self.names)))

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
    locks = Locks(slots_folder())
    if device != "cpu":
        return TrainingSlots(locks, [device])
    return TrainingSlots(locks, [f"core-{n}-{session}" for n in range(min(processes, cores()))])


def slots_folder() -> Path:
    """Return the folder of this user's slots; raises `TrainingStopped` where another one made it.

    Anybody may make a folder in the temporary one, of whatever name, or a link to somewhere else.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and _is_ours(Path(runtime), closed_to=0o077):
        return Path(runtime) / "repro-slots"
    folder = Path(tempfile.gettempdir()) / f"repro-slots-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise TrainingStopped(
            f"The folder {folder}, for the slots to train in, cannot be made ({error.strerror});"
            " set TMPDIR to a folder that you may write."
        ) from error
    if not _is_ours(folder, closed_to=0o022):
        raise TrainingStopped(
            f"The folder {folder}, for the slots to train in, is no folder of yours that others"
            " may not write; remove it, or set TMPDIR to a folder of your own."
        )
    return folder


def _is_ours(path: Path, *, closed_to: int) -> bool:
    """Return whether this is our own folder, and no link to one, closed to others for a mode."""
    try:
        state = os.lstat(path)
    except OSError:
        return False
    is_closed = not state.st_mode & closed_to
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and is_closed


def cores() -> int:
    """Return how many cores this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1
