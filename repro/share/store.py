"""A store whose results are shared: what misses here is fetched, and what is trained here is sent.

The folder stays a store like any other. A share that cannot be used is said once; training goes on
here, and what could not be sent is tried again until the session ends.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from repro.files import Lock, write_beside
from repro.share.leases import Leases
from repro.share.objects import Objects, ShareError
from repro.share.packed import packed, unpacked
from repro.store import Result, Store, StoreError, entry, run_key
from repro.store.entry import Damaged
from repro.store.errors import Report, explained, warn
from repro.store.locks import Locks

MARK = b"repro share 1\n"
"""The object `repro-share`, by which a share says what form its objects have."""

THREAD = "repro share"
"""The name of the threads that send results while others are trained."""

SECONDS_BETWEEN_SENDING = 0.5
SECONDS_CLOSED = 30.0
"""Time for which a share that could not be used is left alone."""

LISTING_SHARE = 0.05
"""The part of the time that may go into listing again what there is."""

SECONDS_BETWEEN_LISTINGS = 30.0
MOST_BYTES_AT_ONCE = 64 * 2**20
MOST_AT_ONCE = 64

T = TypeVar("T")

_KEY = re.compile(r"[0-9a-f]{64}")
_ENGINE = re.compile(r"engine-([0-9a-f]{32})")


class SharedStore(Store):
    """A store with a share behind it.

    >>> SharedStore(here, objects_at("s3://laboratory/claims")).at(key)
    """

    def __init__(
        self, root: str | os.PathLike[str], objects: Objects, *, report: Report = warn
    ) -> None:
        super().__init__(root, report=report)
        self._objects, self._leases = objects, Leases(objects)
        self._there: set[str] = set()
        self._damaged: set[str] = set()
        self._look_at: set[str] = set()
        self._awaited: set[str] = set()
        self._used: set[str] = set()
        self._to_send: set[str] = set()
        self._engines_to_send: set[str] = set()
        self._listed_at = self._closed_until = -float("inf")
        self._listing_took = 0.0
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()
        self._is_writable = True
        self._is_lost = False
        self.troubles: list[str] = []
        """The reasons why the share cannot be used as it should be, a sentence each."""
        self.locks: Locks = _SharedLocks(self)
        self._tried(self._begin)

    def at(self, key: str) -> Result | None:
        stored = super().at(key)
        if stored is None:
            return super().at(key) if self._fetch(key) else None
        return self._noted(key, stored)

    def measured_all(self, keys: Sequence[str]) -> list[Result | None]:
        every = super().measured_all(keys)
        return [self._noted(key, result) for key, result in zip(keys, every, strict=True)]

    def put(
        self,
        identity: Mapping[str, Any],
        values: Mapping[str, Any],
        provenance: Mapping[str, Any],
        *,
        weights: bytes | None = None,
    ) -> None:
        super().put(identity, values, provenance, weights=weights)
        self._to_send.add(run_key(identity))
        self._go_on_sending()

    def close(self) -> None:
        """Send what is left, and let go of all leases."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        if not self._is_writable:
            return
        self._closed_until = -float("inf")
        unsent = self._used - self._there
        if self._tried(lambda: self._close(unsent)) is None:
            unsent |= self._to_send
            if unsent:
                self.report(
                    f"{len(unsent)} results could not be sent to the share {self._objects.name};"
                    " the next session that uses them sends them."
                )

    def lease(self, name: str) -> bool:
        """Take the lease of a run or a timing; False where another machine has it."""
        if not self._is_writable:
            return True
        took = self._tried(lambda: self._leases.take(name))
        if took is False:
            self._awaited.add(name)
            return False
        if took:
            self._go_on_sending()
            if engine := _ENGINE.fullmatch(name):
                self._tried(lambda: self._fetch_engines([engine[1]]))
            else:
                self._look_at.add(name)
        return True

    def release(self, name: str) -> None:
        """Let others have a lease, once what was trained under it is sent."""
        if engine := _ENGINE.fullmatch(name):
            self._engines_to_send.add(engine[1])
        self._leases.release(name)

    def lessee(self, name: str) -> str:
        """Return who holds a lease, in words; empty where nobody is known to."""
        return self._leases.holder(name)

    @property
    def _engines(self) -> Path:
        return self.root / "engines"

    def _begin(self) -> bool:
        self._list()
        try:
            if not self._objects.create("repro-share", MARK):
                self._require_mark()
            elif self._objects.create("repro-share", MARK):
                self._say("lets two machines create one object, so runs may be trained twice")
        except ShareError as error:
            if self._objects.read("repro-share") not in (None, MARK):
                raise
            self._is_writable = False
            self._say(f"is only read: it {error}")
        there = self._objects.names("engines")
        self._fetch_engines(there)
        self._engines_to_send |= {path.name for path in self._engines.iterdir()} - there
        return True

    def _require_mark(self) -> None:
        if self._objects.read("repro-share") != MARK:
            self._is_writable = False
            raise ShareError("was written by another version of repro")

    def _list(self) -> None:
        began = time.monotonic()
        names = (name.rpartition("/")[2] for name in self._objects.names("results"))
        self._there = set(filter(_KEY.fullmatch, names)) - self._damaged
        self._listed_at = time.monotonic()
        self._listing_took = self._listed_at - began

    def _list_again(self) -> None:
        """List what there is, where the last time is long ago for what it took."""
        pause = max(SECONDS_BETWEEN_LISTINGS, self._listing_took / LISTING_SHARE)
        if time.monotonic() - self._listed_at > pause:
            self._list()

    def _noted(self, key: str, stored: Result | None) -> Result | None:
        """Return a stored run, which others are to have if they lack it."""
        if stored is not None and key not in self._there:
            self._used.add(key)
        return stored

    def _fetch(self, key: str) -> bool:
        """Take a run over that is on the share; tell whether it was there."""
        return bool(self._tried(lambda: self._fetch_now(key)))

    def _fetch_now(self, key: str) -> bool:
        self._list_again()
        if not self._may_be_there(key):
            return False
        content = self._objects.read(_name(key))
        self._awaited.discard(key)
        if content is None:
            self._there.discard(key)
            return False
        return self._take_over(key, content)

    def _may_be_there(self, key: str) -> bool:
        if key in self._look_at:
            self._look_at.discard(key)
            return True
        is_over = key in self._awaited and not self._leases.is_held(key)
        return is_over or key in self._there

    def _take_over(self, key: str, content: bytes) -> bool:
        try:
            result = entry.decoded(unpacked(content), key)
            self._keep(result)
        except Damaged as damage:
            if key not in self._damaged:
                self.report(
                    f"The run {key} on the share {self._objects.name} {damage};"
                    " it will be trained again."
                )
            self._damaged.add(key)
            self._there.discard(key)
            return False
        self._there.add(key)
        return True

    def _keep(self, result: Result) -> None:
        try:
            super().put(result.identity, result.values, result.provenance, weights=result.weights)
        except (
            TypeError,
            ValueError,
            RecursionError,
        ) as error:  # numbers that no store has written
            raise Damaged("is not written as this version writes") from error

    def _fetch_engines(self, names: Iterable[str]) -> bool:
        wanted = {
            f"engines/{name}": self._engines / name
            for name in names
            if _ENGINE.fullmatch(f"engine-{name}") and not (self._engines / name).exists()
        }
        with explained(self.root):
            self._engines.mkdir(exist_ok=True)
            for name, content in self._objects.read_all(wanted).items():
                write_beside(wanted[name], content)
        return True

    def _go_on_sending(self) -> None:
        """Send in the background from now on, and let others see that this process is alive."""
        if self._threads or self._ended.is_set() or not self._is_writable:
            return
        for action in (self._send, self._beat):  # a beat does not wait for what is being sent
            thread = threading.Thread(
                target=self._again_and_again, args=(action,), name=THREAD, daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _again_and_again(self, action: Callable[[], bool]) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_SENDING):
            with suppress(StoreError):  # whoever reads the store next will say it
                self._tried(action)

    def _beat(self) -> bool:
        self._leases.beat()
        return True

    def _send(self) -> bool:
        """Send what was trained here, then let others have its leases."""
        released = self._leases.released()
        self._send_engines(list(self._engines_to_send))
        for contents in self._in_parts(list(self._to_send)):
            self._objects.write_all({_name(key): x for key, x in contents.items()})
            self._there.update(contents)
            self._to_send.difference_update(contents)
        self._leases.remove(released)
        return True

    def _send_engines(self, names: Sequence[str]) -> None:
        paths = [self._engines / name for name in names if _ENGINE.fullmatch(f"engine-{name}")]
        if there := [path for path in paths if path.exists()]:
            self._objects.write_all({f"engines/{x.name}": x.read_bytes() for x in there})
        self._engines_to_send.difference_update(names)

    def _in_parts(self, keys: Iterable[str]) -> Iterable[dict[str, bytes]]:
        """Yield stored runs as objects by their keys, no more at a time than memory holds."""
        part: dict[str, bytes] = {}
        for key in keys:
            stored = super().at(key)
            if stored is None:  # it was damaged here meanwhile
                self._to_send.discard(key)
                continue
            files = entry.encode(stored.identity, stored.values, stored.provenance, stored.weights)
            part[key] = packed(files)
            if len(part) == MOST_AT_ONCE or sum(map(len, part.values())) > MOST_BYTES_AT_ONCE:
                yield part
                part = {}
        if part:
            yield part

    def _close(self, unsent: set[str]) -> bool:
        self._send()
        if unsent:
            with super()._entry_lock("share"):  # of the processes here one sends what all have
                self._list()
                self._to_send |= unsent - self._there
                self._send()
        self._leases.close()
        return True

    def _tried(self, action: Callable[[], T]) -> T | None:
        """Return what comes of an action on the share; None where the share cannot be used."""
        if time.monotonic() < self._closed_until:
            return None
        try:
            return action()
        except ShareError as error:
            self._closed_until = time.monotonic() + SECONDS_CLOSED
            if not self._is_lost:
                self._say(f"{error}; training goes on here, and the share is tried again")
            self._is_lost = True
            return None

    def _say(self, what: str) -> None:
        self.troubles.append(f"The share {self._objects.name} {what}.")
        self.report(self.troubles[-1])


class _SharedLocks(Locks):
    """Locks of which each is held on this machine, and as a lease among all."""

    def __init__(self, store: SharedStore) -> None:
        super().__init__(store.root)
        self._store = store

    def try_lock(self, name: str) -> Lock | None:
        lock = super().try_lock(name)
        if lock is None or self._store.lease(name):
            return lock and _Leased(lock, self._store, name)
        lock.release()
        return None

    def holder(self, name: str) -> str:
        return self._store.lessee(name) or super().holder(name)


class _Leased(Lock):
    """A lock that is held together with its lease."""

    def __init__(self, lock: Lock, store: SharedStore, name: str) -> None:
        super().__init__(lock._held)
        self._store, self._name = store, name

    def release(self) -> None:
        if self._held.is_locked:
            self._store.release(self._name)
        super().release()


def _name(key: str) -> str:
    return f"results/{key[:2]}/{key}"
