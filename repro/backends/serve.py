"""The process of a trainer: it trains what its session sends, until one of the two ends.

It leads a process group of its own. The terminal's Ctrl-C goes to the session alone, which asks for
a last checkpoint; and whatever a black box has started ends together with its trainer.
"""

from __future__ import annotations

import faulthandler
import io
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, fields
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import NoReturn

from repro.backends.files import StoreFiles
from repro.backends.packed import unpacked
from repro.backends.places import numbered_accelerators
from repro.backends.trainer import Printed, details_of, train_batch
from repro.core.device import free_memory
from repro.core.progress import Progress
from repro.runs.identity import name_of
from repro.runs.pool import Batch, Ended, Failed, Trained
from repro.store import Store, StoreError
from repro.text import said_in_full

SECONDS_BETWEEN_LOOKS = 1.0
"""Between two looks whether the session is still there, where its pipe does not tell."""

SECONDS_BETWEEN_WORDS = 0.2
"""Between two words of how far a batch is: a session that is busy would not read more."""


@dataclass(frozen=True)
class Task:
    """A batch to train, or some of its runs, given as places among all."""

    batch: bytes
    runs: Sequence[int]
    root: Path
    """The folder of the store."""
    device: str
    path: Sequence[str]
    """The `sys.path` of the session, by which the trainer finds the same modules."""


@dataclass(frozen=True)
class Unread:
    """A batch could not be read: its modules, say, cannot be loaded here."""

    why: str
    details: str


class Stopped(BaseException):
    """Ends training for good, past a user's `except Exception`."""


class _NoInput(io.TextIOBase):
    """Stands for the terminal, which a trainer does not have."""

    def readline(self, size: int | None = -1, /) -> NoReturn:
        raise RuntimeError(
            "breakpoint(), pdb or input() asks for input, and training runs in a trainer process:"
            " use -s to train in pytest's own process"
        )

    read = readline


def serve(connection: Connection, session: int) -> None:
    """Train what comes over a connection from a session's process, until it says stop or ends."""
    os.set_inheritable(connection.fileno(), False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    sys.stdin = _NoInput()
    stopping, tasks = Event(), SimpleQueue[Task | None]()
    Thread(target=_listen, args=(connection, session, tasks, stopping), daemon=True).start()
    stores: dict[Path, Store] = {}
    with suppress(Stopped, KeyboardInterrupt):
        while (task := tasks.get()) is not None:
            if task.root not in stores:
                stores[task.root] = Store(task.root, report=connection.send)
            _Serving(task, stores[task.root], connection, stopping).train()


def _listen(
    connection: Connection, session: int, tasks: SimpleQueue[Task | None], stopping: Event
) -> None:
    """Take tasks in; end this process, and all that it has started, if the session is gone."""
    with suppress(EOFError, OSError):
        while os.getppid() == session:
            if connection.poll(SECONDS_BETWEEN_LOOKS):
                task = connection.recv()
                if task is None:
                    stopping.set()
                tasks.put(task)
    os.killpg(os.getpid(), signal.SIGKILL)


class _Serving:
    """A task, and the session that is told of it."""

    def __init__(self, task: Task, store: Store, connection: Connection, stopping: Event) -> None:
        self._task, self._store = task, store
        self._connection, self._stopping = connection, stopping
        self._batch: Batch | None = None
        self._told = -SECONDS_BETWEEN_WORDS

    def train(self) -> None:
        """Train a task, and tell what comes of it; raises `Stopped` after a last checkpoint."""
        sys.path[:] = self._task.path
        printed = Printed()
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                batch = self._batch = unpacked(self._task.batch)
        except (Exception, SystemExit) as error:
            why = said_in_full(error)
            self._send(Unread(why, details_of(error, printed.text)))
        else:
            try:
                self._train(batch)
            except StoreError as error:
                self._send(error)
        self._send(Ended(0))

    def _train(self, batch: Batch) -> None:
        task = self._task
        files = StoreFiles(
            self._store,
            batch,
            show=self._show,
            devices=numbered_accelerators(task.device),
            is_stopping=self._stopping.is_set,
        )
        runs = [batch.runs[place] for place in task.runs]
        for event in train_batch(runs, engine=batch.engine, device=task.device, files=files):
            if not isinstance(event, Progress):
                self._send(event)
                continue
            self._tell(event)
            if files.has_saved_last:
                raise Stopped
        free_memory(task.device)  # others may train here before this process does again

    def _show(self, progress: Progress) -> None:
        """Tell how far a black box is, which has kept what it needs when it says so."""
        self._tell(progress)
        if self._stopping.is_set():
            raise Stopped

    def _tell(self, progress: Progress) -> None:
        if time.monotonic() - self._told >= SECONDS_BETWEEN_WORDS:
            self._told = time.monotonic()
            self._send(progress)

    def _send(self, event: object) -> None:
        """Send an event; of one about a run its type, the run's place in the batch, and the rest.

        The session need not be able to load what a run consists of: it has that run.
        """
        if not (isinstance(event, Trained | Failed) and self._batch is not None):
            self._connection.send(event)
            return
        place = list(self._batch.runs).index(event.run)
        rest = [getattr(event, each.name) for each in fields(event) if each.name != "run"]
        try:
            self._connection.send((type(event), place, rest))
        except OSError:
            raise
        except Exception as error:  # whatever the values of a black box raise
            why = f"{name_of(event.run)}, has no result that could be sent: {error}"
            self._connection.send((Failed, place, [why]))
