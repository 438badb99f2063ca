"""The first reading of a session's claims, which its processes share out by chunks.

A process holds the lock of a chunk while it reads it, and leaves a note: the claims that are open,
and the runs that were asked for. The others take the note. A process that dies leaves none and its
lock is free, so another one reads the chunk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from repro.files import try_lock, wait_for_lock, write_beside
from repro.runs.asked import Told

CLAIMS = 25
"""The claims of a chunk: enough to be worth a file, and few enough to be shared out evenly."""


@dataclass(frozen=True)
class Reading:
    """The outcome of reading a chunk of claims, `here` or in another process."""

    places: range
    """The places of its claims among all claims."""
    open: frozenset[int]
    """The places of those that miss runs."""
    asked: Told
    here: bool = True


class FirstReading:
    """The claims of a session by chunks; without a folder this process reads all of them.

    >>> for reading in FirstReading(folder, ["004/climbs", "004/falls"]).readings(read):
    ...     print(reading.places, reading.open, reading.here)
    range(0, 2) frozenset({1}) True
    """

    def __init__(self, folder: Path | None, names: Sequence[str]) -> None:
        self._folder, self._names = folder, names
        self._chunks = [
            range(start, min(start + CLAIMS, len(names))) for start in range(0, len(names), CLAIMS)
        ]
        self._elsewhere: set[str] = set()
        """The names of the claims that another process read."""

    def readings(
        self, read: Callable[[range], Reading], *, first: str | None = None
    ) -> Iterator[Reading]:
        """Read the chunks that no other process reads, and yield all of them in the end.

        The one with the `first` claim that this process has to judge comes first, and those before
        it come last.
        """
        if self._folder is None or not self._folder.is_dir():  # it may be on another machine
            yield from map(read, self._chunks)
            return
        held = []
        for chunk in self._from(first):
            reading = self._noted(chunk) or self._read(chunk, read, waits=False)
            if reading is None:
                held.append(chunk)
            else:
                yield reading
        for chunk in held:
            reading = self._noted(chunk) or self._read(chunk, read, waits=True)
            assert reading is not None
            yield reading

    def _from(self, first: str | None) -> list[range]:
        start = self._names.index(first) // CLAIMS if first in self._names else 0
        return self._chunks[start:] + self._chunks[:start]

    def is_elsewhere(self, name: str) -> bool:
        """Return whether another process read a claim."""
        return name in self._elsewhere

    def _read(
        self, chunk: range, read: Callable[[range], Reading], *, waits: bool
    ) -> Reading | None:
        path = self._path(chunk).with_suffix(".lock")
        try:
            lock = wait_for_lock(path) if waits else try_lock(path)
        except OSError:  # no room, or the folder has gone
            return read(chunk)
        if lock is None:
            return None
        with lock:
            reading = self._noted(chunk)
            if reading is None:
                reading = read(chunk)
                with suppress(OSError):  # without room the others read it themselves
                    self._leave(reading)
        return reading

    def _leave(self, reading: Reading) -> None:
        note = {"open": sorted(reading.open), "asked": reading.asked}
        write_beside(self._path(reading.places).with_suffix(".note"), json.dumps(note))

    def _noted(self, chunk: range) -> Reading | None:
        """Return what another process noted of a chunk; None where there is nothing sound."""
        try:
            note = json.loads(self._path(chunk).with_suffix(".note").read_text())
            reading = Reading(chunk, frozenset(note["open"]), note["asked"], here=False)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        self._elsewhere.update(self._names[place] for place in chunk)
        return reading

    def _path(self, chunk: range) -> Path:
        """Return the path of a chunk's files, but for their endings: by what is in it."""
        assert self._folder is not None
        text = json.dumps([chunk.start, *(self._names[place] for place in chunk)])
        return self._folder / hashlib.sha256(text.encode()).hexdigest()[:32]
