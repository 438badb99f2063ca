"""Slots to train in: one for each accelerator, one for each core of a CPU.

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

from repro.backends.devices import accelerators
from repro.files import UNKNOWN
from repro.runs.backend import TrainingStopped
from repro.store.locks import Lock, Locks

POLL_SECONDS = 0.1


class TrainingSlots:
    """Slots by name, each for one process at a time.

    Processes that want several gather them one after the other, in turn, so that no two wait for
    what the other one has.
    """

    def __init__(
        self, locks: Locks, names: Sequence[str], *, most: int | None = None, turn: str = "turn"
    ) -> None:
        self.locks, self.names = locks, names
        self.count = len(names) if most is None else min(most, len(names))
        """The number of processes that may train at once."""
        self._turn_name = turn
        self._turn: Lock | None = None
        self._held: dict[str, Lock] = {}

    @property
    def held(self) -> list[str]:
        """The names of the slots that this process has, in the order of all."""
        return [name for name in self.names if name in self._held]

    def take(self, seconds: float = math.inf) -> bool:
        """Wait for a slot, unless this process has one; return whether it has one now."""
        return bool(self._held) or self._gather(self.names, 1, seconds)

    def take_instead(self, count: int, *, of: Sequence[str], seconds: float = math.inf) -> bool:
        """Wait for so many of these slots, in place of what it has; return whether it has them.

        Where the wait is too long, what it has by then is kept, for the next call to go on from.
        """
        is_on_its_way = self._turn is not None and len(self._held) <= count
        if not (is_on_its_way or len(self._held) == count) or not self._held.keys() <= set(of):
            self.give_back()
        return self._gather(of, count, seconds)

    def _gather(self, names: Sequence[str], count: int, seconds: float) -> bool:
        began = time.monotonic()
        while len(self._held) < count:
            if count > 1 and self._turn is None:
                self._turn = self.locks.try_lock(self._turn_name)
            if count == 1 or self._turn is not None:
                self._take_free(names, count)
            if len(self._held) < count:
                if time.monotonic() - began > seconds:
                    return False
                time.sleep(POLL_SECONDS)
        self._end_turn()
        return True

    def _take_free(self, names: Sequence[str], count: int) -> None:
        for name in names:
            if len(self._held) < count and name not in self._held:
                lock = self.locks.try_lock(name)
                if lock is not None:
                    self._held[name] = lock

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.release()
        self._turn = None

    @property
    def holders(self) -> str:
        """The processes that have the slots, in words."""
        others = [self.locks.holder(name) for name in self.names if name not in self._held]
        known = dict.fromkeys(other for other in others if other != UNKNOWN)
        return " and ".join(known) or UNKNOWN

    def give_back(self) -> None:
        """Let other processes have the slots."""
        for lock in self._held.values():
            lock.release()
        self._held.clear()
        self._end_turn()


def slots_on(device: str, *, processes: int, session: str) -> TrainingSlots:
    """Return the slots of a session's processes, which all name the session alike.

    An accelerator is shared with everybody on the machine. A core is not: another session must not
    have to wait for the end of a long batch.

    >>> slots = slots_on("cpu", processes=4, session="c0ffee")
    >>> slots.take()
    """
    locks = Locks(slots_folder())
    if device != "cpu":
        names = [f"{device}-{name.replace('/', '-')}" for name in accelerators(device)]
        return TrainingSlots(locks, names, most=processes, turn=f"{device}-turn")
    names = [f"core-{n}-{session}" for n in range(cores())]
    return TrainingSlots(locks, names, most=processes, turn=f"turn-{session}")


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
