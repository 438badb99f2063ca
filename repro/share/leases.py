"""Leases: a run is trained by the machine that holds its lease, as long as that machine is alive.

A lease is an object that only one can create. It names a process, and each process changes a beat
of its own while it lives. No clocks are compared: whoever waits watches the beat, and once it has
not changed for a minute of his own, takes the lease over, by creating the one with the next number.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence

from repro.share.objects import Objects

LEASE_SECONDS = 60.0
"""Time without a beat after which a process counts as dead."""

BEAT_SECONDS = 10.0
LOOK_SECONDS = 5.0
"""Time for which what is known of others' leases and beats counts as new."""

_OWNER = re.compile(r"[\w.-]{1,200}~[0-9]{1,20}~[0-9a-f]{16}", re.ASCII)


class Leases:
    """The leases of one process, and those of others that it has met.

    >>> leases = Leases(objects)
    >>> leases.take("5e1f")
    True
    """

    def __init__(self, objects: Objects, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._objects, self._clock = objects, clock
        host = re.sub(r"[^\w.-]", "-", socket.gethostname(), flags=re.ASCII)[:200] or "-"
        self.owner = f"{host}~{os.getpid()}~{secrets.token_hex(8)}"
        self._held: dict[str, int] = {}
        self._over: dict[str, int] = {}
        self._beats = 0
        self._beat_at = -float("inf")
        self._listed: dict[str, int] = {}
        self._listed_at = -float("inf")
        self._owners: dict[tuple[str, int], str] = {}
        self._seen: dict[str, _Beat] = {}
        self._changing = threading.RLock()

    def take(self, name: str) -> bool:
        """Take a lease that nobody alive holds; False where somebody does."""
        with self._changing:
            if name in self._over:
                self._held[name] = self._over.pop(name)
                return True
            number = self._number(name)
            if number and self._is_mine(name, number):
                self._held[name] = number
                return True
            if number and not self._is_abandoned(name, number):
                return False
            if number:  # it may be over by now, and its numbers begin anew
                self._look()
                if self._listed.get(name, 0) != number:
                    return False
            if self._beats == 0:
                self.beat()
            number += 1
            self._listed[name] = number
            if self._objects.create(_lease(name, number), self.owner.encode()):
                self._held[name] = number
                return True
            if self._is_mine(name, number):  # a first attempt got through, its answer did not
                self._held[name] = number
                return True
            return False

    def release(self, name: str) -> None:
        """Let others have a lease, once `remove` tells them."""
        with self._changing:
            if name in self._held:
                self._over[name] = self._held.pop(name)

    def is_held(self, name: str) -> bool:
        """Tell whether a lease is held, by this process or another, by what is known now."""
        with self._changing:
            return self._number(name) > 0

    def holder(self, name: str) -> str:
        """Return who holds a lease, in words; empty where nobody is known to."""
        owner = self._owners.get((name, self._listed.get(name, 0)))
        if not owner:
            return ""
        host, _, rest = owner.partition("~")
        return f"process {rest.partition('~')[0]} on {host}"

    def released(self) -> list[str]:
        """Return the leases that others can have, and have not been told of."""
        with self._changing:
            return list(self._over)

    def remove(self, released: Sequence[str]) -> None:
        """Tell others that they can have these leases, unless they were taken again since."""
        with self._changing:
            over = {name: self._over[name] for name in released if name in self._over}
            # those that were taken over too
            numbered = [(name, n) for name in over for n in range(1, over[name] + 1)]
            if over:
                self._objects.remove(_lease(name, number) for name, number in numbered)
            for name, number in numbered:
                self._over.pop(name, None)
                self._listed.pop(name, None)
                self._owners.pop((name, number), None)

    def beat(self) -> None:
        """Let others see that this process is alive, where they have not for a while."""
        if self._clock() - self._beat_at >= BEAT_SECONDS:
            self._beats += 1
            self._objects.write_all({_beat(self.owner): str(self._beats).encode()})
            self._beat_at = self._clock()

    def close(self) -> None:
        """Release everything: a process that has no beat at all is dead at once."""
        with self._changing:
            self._over.update(self._held)
            self._held.clear()
            self.remove(self.released())
            if self._beats:
                self._objects.remove([_beat(self.owner)])

    def _number(self, name: str) -> int:
        """Return the number of a lease; 0 where there is none."""
        if self._clock() - self._listed_at >= LOOK_SECONDS:
            self._look()
        return self._listed.get(name, 0)

    def _look(self) -> None:
        listed: dict[str, int] = {}
        for each in self._objects.names("leases"):
            name, _, number = each.rpartition(".")
            if number.isdecimal() and len(number) < 10:
                listed[name] = max(int(number), listed.get(name, 0))
        self._listed, self._listed_at = listed, self._clock()

    def _is_mine(self, name: str, number: int) -> bool:
        return self._owner(name, number) == self.owner

    def _owner(self, name: str, number: int) -> str:
        if (name, number) not in self._owners:
            content = self._objects.read(_lease(name, number))
            owner = (content or b"").decode(errors="replace")
            if not _OWNER.fullmatch(owner):  # it is over, or about to be written
                return ""
            self._owners[name, number] = owner
        return self._owners[name, number]

    def _is_abandoned(self, name: str, number: int) -> bool:
        owner = self._owner(name, number)
        watched = self._seen.setdefault(owner or _lease(name, number), _Beat())
        if self._clock() - watched.looked_at >= LOOK_SECONDS:
            # a lease without a name, whose process ended while it wrote it, has a beat that rests
            content = self._objects.read(_beat(owner)) if owner else b""
            watched.look(content, self._clock())
        return watched.is_over(self._clock())


class _Beat:
    """The beat of a process as this one has seen it."""

    def __init__(self) -> None:
        self.looked_at = -float("inf")
        self._content: bytes | None = None
        self._since = 0.0

    def look(self, content: bytes | None, now: float) -> None:
        if content != self._content or self.looked_at < 0:
            self._content, self._since = content, now
        self.looked_at = now

    def is_over(self, now: float) -> bool:
        return self._content is None or now - self._since >= LEASE_SECONDS


def _lease(name: str, number: int) -> str:
    return f"leases/{name}.{number}"


def _beat(owner: str) -> str:
    return f"owners/{owner}"
