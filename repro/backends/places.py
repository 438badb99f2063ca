"""The places to train at, one for each accelerator or core, and how many of them a run asks for.

Neighbours on an accelerator would add up to its memory, so everybody on the machine shares its
lock. More trainers than cores push each other's numbers out of the caches (four on two cores took
1.1 to 1.2 times as long as two). Cores are not shared between sessions: another session must not
have to wait for the end of a long batch.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from repro.arm import Arm
from repro.core.device import machine, resolve_device
from repro.files import UNKNOWN
from repro.own.arm import OutsideArm
from repro.runs.pool import SECONDS_UNTIL_SAID, TrainingStopped
from repro.store.locks import Lock, Locks


class Places:
    """Places by name, which a pool reserves and takes for its batches.

    With `locks` other processes take them too. Those that want several reserve them in turn, so
    that no two wait for what the other one has.

    >>> places = Places(["core-0", "core-1"])
    >>> places.take(2)
    ['core-0', 'core-1']
    """

    def __init__(self, names: Sequence[str], locks: Locks | None = None) -> None:
        self.names, self._locks = names, locks
        self._reserved: dict[str, Lock | None] = {}
        self._taken: dict[str, Lock | None] = {}
        self._turn: Lock | None = None
        self._waits_since: float | None = None

    def reserve(self, count: int) -> int:
        """Reserve free places until it is so many, for `take`; return how many there are."""
        self._reserve(count)
        self._note(has_some=bool(self._reserved) or count < 1)
        return min(count, len(self._reserved))

    def take(self, count: int) -> list[str]:
        """Take so many places; none before all can be had, and those reserved till then are kept.

        >>> Places(["core-0"]).take(2)
        []
        """
        if count > 1 and self._locks is not None and self._turn is None:
            self._turn = self._locks.try_lock("turn")
            if self._turn is None:  # whoever has the turn may wait for what is reserved here
                self.let_go()
        if count == 1 or self._locks is None or self._turn is not None:
            self._reserve(count)
        has_all = len(self._reserved) >= count
        self._note(has_some=has_all)
        if not has_all:
            return []
        names = [name for name in self.names if name in self._reserved][:count]
        self._taken.update({name: self._reserved.pop(name) for name in names})
        self._end_turn()
        return names

    def give_back(self, names: Iterable[str]) -> None:
        """Let other batches and processes have places that were taken."""
        _release(self._taken.pop(name) for name in list(names))

    def let_go(self) -> None:
        """Let others have the places that are reserved and not taken."""
        _release(self._reserved.values())
        self._reserved.clear()
        self._end_turn()

    @property
    def waits_for(self) -> str:
        """The places that it has waited for long, in words; empty where it has not."""
        since = self._waits_since
        if self._locks is None or since is None or time.monotonic() - since < SECONDS_UNTIL_SAID:
            return ""
        files = [name.replace("/", "-") for name in self.names if name not in self._taken]
        others = map(self._locks.holder, files)
        known = dict.fromkeys(other for other in others if other != UNKNOWN)
        return f"a place to train at, held by {' and '.join(known) or UNKNOWN}"

    def _reserve(self, count: int) -> None:
        for name in self.names:
            if len(self._reserved) >= count:
                return
            if name not in self._reserved and name not in self._taken:
                lock = self._locks.try_lock(name.replace("/", "-")) if self._locks else None
                if self._locks is None or lock is not None:
                    self._reserved[name] = lock

    def _note(self, *, has_some: bool) -> None:
        if has_some:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = time.monotonic()

    def _end_turn(self) -> None:
        _release([self._turn])
        self._turn = None


def _release(locks: Iterable[Lock | None]) -> None:
    for lock in locks:
        if lock is not None:
            lock.release()


def places_on(device: str) -> Places:
    """Return the places of this machine to train at on a kind of device.

    >>> places_on("cpu").names
    ['0', '1']
    """
    if device == "cpu":
        return Places([str(number) for number in range(cores())])
    return Places(accelerators(device), Locks(places_folder() / device))


class LocalPool:
    """A pool on this machine: its kind of device, and the places to train at."""

    def __init__(self, device: str) -> None:
        self.device = resolve_device(device)
        self.remarks: Sequence[str] = ()

    @property
    def machine(self) -> str | None:
        return machine(self.device)

    @property
    def waits_for(self) -> str:
        return self._places.waits_for

    def plan_lines(self, batches: int) -> Sequence[str]:
        return ()  # the plan has said it all

    @cached_property
    def _places(self) -> Places:
        """The places of this session; one that trains nothing needs none."""
        return places_on(self.device)


def places_folder() -> Path:
    """Return the folder of this user's locks; raises `TrainingStopped` where another one made it.

    Anybody may make a folder in the temporary one, of whatever name, or a link to somewhere else.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and _is_ours(Path(runtime), closed_to=0o077):
        return Path(runtime) / "repro-places"
    folder = Path(tempfile.gettempdir()) / f"repro-places-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_ours(folder, closed_to=0o022):
        raise TrainingStopped(
            f"The folder {folder}, for the places to train at, cannot be made, or is no folder of"
            " yours that others may not write; remove it, or set TMPDIR to a folder of your own."
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


@dataclass(frozen=True, order=True)
class Demand:
    """The devices and the threads of one run."""

    devices: int = 1
    threads: int = 1

    @classmethod
    def of(cls, arm: Arm) -> Demand:
        """Return what the runs of an arm ask for; those of the core train on one, by one thread."""
        return cls(arm.devices, arm.threads) if isinstance(arm, OutsideArm) else cls()

    def cores(self, device: str) -> int:
        """Return the cores that it holds: on a CPU each device is one.

        >>> Demand(devices=4, threads=2).cores("cpu"), Demand(devices=4, threads=2).cores("cuda")
        (4, 2)
        """
        return max(self.threads, self.devices if device == "cpu" else 1)

    def lacking(self, most: int, *, where: str, device: str) -> str:
        """Return in words that so many devices are too few; nothing where they are enough.

        >>> Demand(devices=4).lacking(2, where="this machine", device="cuda").partition(";")[0]
        'asks for 4 devices, and this machine has 2'
        """
        if self.devices <= most:
            return ""
        cores = "core" if most == 1 else "cores"
        has = f"{most} {cores}, each of which counts as one" if device == "cpu" else f"{most}"
        return (
            f"asks for {self.devices} devices, and {where} has {has}; ask for fewer, or train it"
            " where there are more"
        )


ONE = Demand()
"""The demand of all that the core does: one device, one thread."""


def accelerators(kind: str) -> list[str]:
    """Return the names of the accelerators that this process may use, by number.

    CUDA's are as `CUDA_VISIBLE_DEVICES` has them, for processes that are started.

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
    """Return the CUDA devices that a job was given: torch's names, and those for other processes.

    >>> numbered_accelerators("cuda")
    {'cuda:0': '2', 'cuda:1': '3'}
    """
    names = accelerators(device) if device == "cuda" else []
    return {f"cuda:{number}": name for number, name in enumerate(names)}
