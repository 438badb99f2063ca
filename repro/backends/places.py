"""The places to train at: one for each accelerator or core of this machine.

Two trainers on one accelerator could exceed its memory, so all sessions of a user lock it. More
trainers than cores evict each other's data from the caches (four on two cores took 1.1 to 1.2 times
as long as two). Cores have no locks between sessions, or one session would wait for a long batch of
another.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from repro.arm import Arm
from repro.files import UNKNOWN, Lock
from repro.own.arm import OutsideArm
from repro.runs.pool import TrainingStopped
from repro.store.locks import Locks


class Places:
    """Places by name, to take for batches; with `locks` they are shared with other processes.

    >>> places = Places(["0", "1"])
    >>> places.take(2)
    ['0', '1']
    """

    def __init__(self, names: Sequence[str], locks: Locks | None = None) -> None:
        self.names, self._locks = names, locks
        self._taken: dict[str, Lock | None] = {}

    def take(self, count: int) -> list[str]:
        """Take this number of places, or none; so a waiting batch holds no place.

        >>> Places(["0"]).take(2)
        []
        """
        taken: dict[str, Lock | None] = {}
        for name in self.names:
            if len(taken) < count and name not in self._taken:
                lock = self._locks.try_lock(_file(name)) if self._locks else None
                if self._locks is None or lock is not None:
                    taken[name] = lock
        self._taken.update(taken)
        if len(taken) < count:
            self.give_back(taken)
            return []
        return list(taken)

    def give_back(self, names: Iterable[str]) -> None:
        """Release places."""
        for name in list(names):
            if (lock := self._taken.pop(name)) is not None:
                lock.release()

    @property
    def holders(self) -> str:
        """The other sessions that hold places, in words."""
        if self._locks is None:
            return UNKNOWN
        holders = map(self._locks.holder, map(_file, self.names))
        return " and ".join(dict.fromkeys(x for x in holders if x != UNKNOWN)) or UNKNOWN


def _file(name: str) -> str:
    return name.replace("/", "-")


def places_on(device: str) -> Places:
    """Return the places of this machine to train at on a kind of device.

    >>> places_on("cpu").names
    ['0', '1']
    """
    if device == "cpu":
        return Places([str(number) for number in range(cores())])
    return Places(accelerators(device), Locks(places_folder() / device))


def places_folder() -> Path:
    """Return the folder of this user's locks; raises `TrainingStopped` if another user made it.

    Any user may make a folder of this name, or a link, in the temporary folder.
    """
    folder = Path(tempfile.gettempdir()) / f"repro-places-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.lstat().st_uid == os.getuid():
            return folder
    raise TrainingStopped(
        f"The folder {folder}, for the places to train at, cannot be made, or is not yours; remove"
        " it, or set TMPDIR to a folder of your own."
    )


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def accelerators(kind: str) -> list[str]:
    """Return the names of the accelerators that this process may use, by number.

    CUDA devices have names for `CUDA_VISIBLE_DEVICES` of a new process.

    >>> accelerators("cuda")
    ['0', '1']
    """
    if kind != "cuda":
        return [kind]
    import torch

    count = max(1, torch.cuda.device_count())
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else map(str, range(count))
    return [name.strip() for name in names][:count]


def numbered_accelerators(device: str) -> dict[str, str]:
    """Return the CUDA devices of a job: torch's names, and the names for new processes.

    >>> numbered_accelerators("cuda")
    {'cuda:0': '2', 'cuda:1': '3'}
    """
    names = accelerators(device) if device == "cuda" else []
    return {f"cuda:{number}": name for number, name in enumerate(names)}


def devices_of(arm: Arm) -> int:
    """Return the number of devices for a run: one, except for black boxes."""
    return arm.devices if isinstance(arm, OutsideArm) else 1


def cores_of(arm: Arm, device: str) -> int:
    """Return the number of cores for a run; on a CPU each device is one core.

    >>> cores_of(Mine(devices=4, threads=2), "cpu"), cores_of(Mine(devices=4, threads=2), "cuda")
    (4, 2)
    """
    threads = arm.threads if isinstance(arm, OutsideArm) else 1
    return max(threads, devices_of(arm)) if device == "cpu" else threads


def require_devices(arm: Arm, most: int, *, where: str, device: str) -> None:
    """Raise ValueError where a run asks for more than `most` devices."""
    if devices_of(arm) <= most:
        return
    cores = "core" if most == 1 else "cores"
    has = f"{most} {cores}, each of which counts as one" if device == "cpu" else f"{most}"
    raise ValueError(
        f"asks for {devices_of(arm)} devices, and {where} has {has}; ask for fewer, or train it"
        " where there are more"
    )
