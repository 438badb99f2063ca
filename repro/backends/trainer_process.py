"""A trainer: a process of this machine that trains what its session sends, until one of them ends.

`TrainerProcess` is the session's side of it, and `serve` runs in it. It leads a process group of
its own. The terminal's Ctrl-C goes to the session alone, which asks for a last checkpoint; and
whatever a black box has started ends together with its trainer.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, NoReturn

from repro.backends.files import StoreFiles
from repro.backends.packed import unpacked
from repro.backends.places import numbered_accelerators
from repro.backends.trainer import MOST, Printed, details_of, train_batch
from repro.core.device import free_memory
from repro.core.progress import Progress
from repro.own.outside import THREADS, VISIBLE
from repro.runs.pool import TrainingStopped
from repro.store import Store, StoreError
from repro.text import said_in_full

SECONDS_BETWEEN_LOOKS = 1.0
"""Between two looks whether the session is still there, where its pipe does not tell."""

SECONDS_BETWEEN_WORDS = 0.2
"""Between two words of how far a batch is: a session that is busy would not read more."""

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from repro.backends.trainer_process import serve; serve(*sys.argv[2:])"
)
"""Python's own processes would import the session's script once more, and share its terminal."""


@dataclass(frozen=True)
class Unread:
    """A batch could not be read: its modules, say, cannot be loaded in the trainer."""

    why: str
    details: str


class TrainerProcess:
    """A process that trains on the accelerators that it was given, or on a CPU.

    It sends events, with the place of a run in its batch instead of the run: the session need not
    be able to load what a run consists of. None comes at the end of a batch.

    >>> trainer = TrainerProcess("0,1", root=store.root, device="cuda")
    >>> trainer.send(packed(batch))
    >>> for event in trainer.received():
    ...     print(event)
    """

    def __init__(self, visible: str | None, *, root: Path, device: str) -> None:
        self.visible = visible
        self.connection, theirs = Pipe()
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `kill`
        self._begins_at = 0
        command = [sys.executable, "-c", START, json.dumps(sys.path)]
        more = dict.fromkeys(THREADS, "1") | ({} if visible is None else {VISIBLE: visible})
        try:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(os.getpid()), str(root), device],
                env={**os.environ, **more},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                process_group=0,
            )
        except OSError as error:
            self._printed.close()
            raise TrainingStopped(f"No process to train in can be started ({error}).") from error
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, content: bytes | None) -> None:
        """Give it a batch to train, or None to stop; it finds the modules that this process does.

        Where it has ended meanwhile, `received` says so.
        """
        self._begins_at = os.fstat(self._printed.fileno()).st_size
        with suppress(OSError):
            self.connection.send(content if content is None else (content, sys.path[:]))

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in it, and in the commands that it has started."""
        self._signal(signal.SIGINT)

    def received(self) -> Iterator[Any]:
        """Yield what it has sent; raises EOFError where it has ended and nothing more will come."""
        has_ended = self.has_ended  # asked before the last look at what it has left
        try:
            while self.connection.poll():
                yield self.connection.recv()
        except ConnectionError as error:
            raise EOFError from error
        if has_ended:
            raise EOFError

    def kill(self) -> str:
        """End it and all that it has started; return how it ended, in words."""
        self._signal(signal.SIGKILL)
        code = self._process.wait()
        self.connection.close()
        self._printed.close()
        if code >= 0:
            return f"exit status {code}: os._exit?"
        name = signal.Signals(-code).name
        return f"{name}: a crash in native code, or killed for memory?"

    def printed(self) -> str:
        """Return the end of what it has printed since its last task, but for what Python did."""
        size = os.fstat(self._printed.fileno()).st_size
        first = max(self._begins_at, size - MOST)
        return os.pread(self._printed.fileno(), size - first, first).decode(errors="replace")

    def _signal(self, number: signal.Signals) -> None:
        with suppress(OSError):  # there is nobody left
            os.killpg(self._process.pid, number)


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


def serve(handle: str, session: str, root: str, device: str) -> None:
    """Train what comes over a connection from a session's process, until it says stop or ends."""
    os.set_inheritable(int(handle), False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    sys.stdin = _NoInput()
    connection, stopping = Connection(int(handle)), Event()
    tasks = SimpleQueue[tuple[bytes, list[str]] | None]()
    listening = (connection, int(session), tasks, stopping)
    Thread(target=_listen, args=listening, daemon=True).start()
    store = Store(Path(root), report=connection.send)
    with suppress(Stopped, KeyboardInterrupt):
        while (task := tasks.get()) is not None:
            content, sys.path[:] = task
            _train(content, store, device, connection.send, stopping)
            connection.send(None)


def _listen(connection: Connection, session: int, tasks: SimpleQueue[Any], stopping: Event) -> None:
    """Take tasks in; end this process, and all that it has started, if the session is gone."""
    with suppress(EOFError, OSError):
        while os.getppid() == session:
            if connection.poll(SECONDS_BETWEEN_LOOKS):
                task = connection.recv()
                if task is None:
                    stopping.set()
                tasks.put(task)
    os.killpg(os.getpid(), signal.SIGKILL)


def _train(
    content: bytes, store: Store, device: str, send: Callable[[Any], None], stopping: Event
) -> None:
    """Train a batch, and tell what comes of it; raises `Stopped` after a last checkpoint."""
    printed = Printed()
    try:
        with printed.taking():
            batch = unpacked(content)
    except (Exception, SystemExit) as error:
        send(Unread(said_in_full(error), details_of(error, printed.text)))
        return
    sent_at = 0.0

    def tell(progress: Progress) -> None:
        nonlocal sent_at
        if time.monotonic() - sent_at >= SECONDS_BETWEEN_WORDS:
            sent_at = time.monotonic()
            send(progress)

    def show(progress: Progress) -> None:
        tell(progress)
        if stopping.is_set():  # a black box has kept what it needs when it says how far it is
            raise Stopped

    files = StoreFiles(
        store,
        batch,
        show=show,
        devices=numbered_accelerators(device),
        is_stopping=stopping.is_set,
    )
    places = {run: place for place, run in enumerate(batch.runs)}
    training = train_batch(list(batch.runs), engine=batch.engine, device=device, files=files)
    try:
        for event in files.stored(training):
            if isinstance(event, Progress):
                tell(event)
                if files.has_saved_last:
                    raise Stopped
            else:
                send(replace(event, run=places[event.run]))  # type: ignore[arg-type]
    except StoreError as error:
        send(error)
    if device == "cuda":  # others may train there before this process does again
        free_memory(device)
