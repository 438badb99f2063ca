"""The training that ended its process: noted in the store while it lasts, and counted.

A segmentation fault takes its process along and says nothing, and whoever goes on ends at the same
run. So a process leaves a note of each run before it trains it, and removes it in any orderly end.
Whoever holds a run's lock and finds a note knows that the last one ended inside that run. A note
counts in the session that left it; a later one reports it and starts to count at zero.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import NoReturn, Self

from repro.files import remove
from repro.store import Store
from repro.store.errors import explained

MOST = 2
"""Crashes in a session after which a run is given up, and runs after which their program is."""

CAUSES = "a crash in native code, os._exit, or killed for memory?"


@dataclass(frozen=True)
class _Note:
    """A start of some training: by whom, and how many starts before it had ended their process."""

    session: str
    process: str
    crashes: int

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `json.dumps` wrote; raises ValueError or TypeError where it is not that."""
        note = cls(**json.loads(text))
        if not isinstance(note.crashes, int):
            raise TypeError(f"{note} does not count")
        return note


class Crashes:
    """The notes of one process, about training whose locks it holds.

    >>> crashes = Crashes(store, session="c0ffee")
    >>> crashes.counts({"5e1f": "d256, seed 1"})
    {'5e1f': 0}
    >>> crashes.start(["5e1f"])
    >>> crashes.end(["5e1f"])
    """

    def __init__(self, store: Store, *, session: str) -> None:
        self._store, self._session = store, session
        self._folder = store.root / "in-training"
        self._counts: dict[str, int] = {}
        self._started: set[str] = set()

    def counts(self, names: Mapping[str, str]) -> dict[str, int]:
        """Return how often in this session each of these has ended its process.

        `names` has what the notes are called, and what is trained in words: what ended the process
        of another session is reported once.
        """
        counts, ended = {}, dict[str, list[str]]()
        for name, words in names.items():
            note = self._read(name)
            counts[name] = note.crashes + 1 if note and note.session == self._session else 0
            if note and note.session != self._session:
                ended.setdefault(note.process, []).append(words)
                remove(self._folder / name)
        for process, trained in ended.items():
            more = f" and {len(trained) - 1} more" if trained[1:] else ""
            self._store.report(
                f"An earlier session's {process} ended while it trained {trained[0]}{more}"
                f" ({CAUSES}); they are trained again."
            )
        self._counts.update(counts)
        return counts

    def start(self, names: Iterable[str]) -> None:
        """Note that training is about to start."""
        process = f"process {os.getpid()} on {socket.gethostname()}"
        with explained(self._store.root):
            self._folder.mkdir(exist_ok=True)
            for name in names:
                note = _Note(self._session, process, self._counts[name])
                (self._folder / name).write_text(json.dumps(asdict(note)))
                self._started.add(name)

    def end(self, names: Iterable[str]) -> None:
        """Remove the notes of training that came to an orderly end, whatever it was."""
        for name in names:
            remove(self._folder / name)
            self._started.discard(name)

    def end_all(self) -> None:
        """Remove every note that this process has left."""
        self.end(list(self._started))

    def given_up(self, program: str) -> int:
        """Return how many runs of a program this session has given up, by their notes."""
        notes = map(self._read, [path.name for path in self._folder.glob(f"{program}.*")])
        ours = [note for note in notes if note is not None and note.session == self._session]
        return sum(note.crashes >= MOST for note in ours)

    def give_up(self, name: str) -> None:
        """Leave word for the other processes of the session that it is not to be tried again."""
        self._counts[name] = max(MOST, self._counts[name])
        self.start([name])
        self._started.discard(name)

    def _read(self, name: str) -> _Note | None:
        try:
            return _Note.from_text((self._folder / name).read_text())
        except (OSError, ValueError, TypeError):
            return None  # there is none, or it was torn by a power cut


@contextmanager
def exit_refused() -> Iterator[None]:
    """Raise within the block where the main thread calls `os._exit`, which no session survives.

    With `os._exit(0)` it would even end as if all were well. A forked child may exit.
    """
    really_exit, process = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != process or threading.current_thread() is not threading.main_thread():
            really_exit(status)
        raise RuntimeError(f"it called os._exit({status}), which would end the whole session")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = really_exit


def program_name(program: str) -> str:
    """Return a program's name in the names of its runs' notes, which go on after a dot."""
    return hashlib.sha256(program.encode()).hexdigest()[:16]
