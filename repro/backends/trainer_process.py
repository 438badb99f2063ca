"""A trainer: a process of this machine that trains the batches of its session.

`TrainerProcess` is the session's side, and `serve` runs in the trainer. A trainer has a process
group of its own. So Ctrl-C in the terminal reaches only the session, which asks for a last
checkpoint, and the processes that a black box has started end together with their trainer.
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

from repro.backends.batch_files import Stopped, StoreFiles, stored
from repro.backends.packed import unpacked
from repro.backends.places import numbered_accelerators
from repro.backends.trainer import MOST, Printed, details_of, train_here
from repro.code import record
from repro.core.device import free_memory
from repro.core.progress import Progress
from repro.files import remove
from repro.own.outside import THREADS, VISIBLE
from repro.runs.pool import TrainingStopped
from repro.store import Store, StoreError
from repro.text import said_in_full

SECONDS_BETWEEN_LOOKS = 1.0
"""Seconds between two checks that the session still runs, since the pipe does not always tell."""

SECONDS_BETWEEN_WORDS = 0.2
"""Seconds between two progress messages; a busy session would not read more."""

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from repro.code.record import start;"
    " start(project=sys.argv[2], store=sys.argv[3], folder=sys.argv[4]);"
    " from repro.backends.trainer_process import serve; serve(sys.argv[3], *sys.argv[5:])"
)
"""The record begins before any code that counts is imported.

So torch comes after it, too: it imports the backends of its entry points, which may be code of the
project. `multiprocessing` would import the session's script again, and share its terminal.
"""


@dataclass(frozen=True)
class Unread:
    """A batch could not be unpacked; its modules, say, cannot be loaded in the trainer."""

    why: str
    details: str


class TrainerProcess:
    """A process that trains on given accelerators, or on a CPU.

    It sends events. Instead of a run, an event has the run's index in the batch, since the session
    may not be able to unpickle a run. At the end of a batch it sends None.

    It trains one study and then ends, so that the traces of its runs are of this study alone.

    >>> trainer = TrainerProcess(
    ...     "0,1", study="spirals", project=folder, root=store.root, device="cuda"
    ... )
    >>> trainer.send(packed(batch))
    >>> for event in trainer.received():
    ...     print(event)
    """

    def __init__(
        self, visible: str | None, *, study: str, project: Path, root: Path, device: str
    ) -> None:
        self.visible, self.study = visible, study
        self.connection, theirs = Pipe()
        self._record = tempfile.mkdtemp(prefix="record-", dir=root / "tmp")
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `kill`
        self._begins_at = 0
        command: list[str] = [sys.executable, "-c", START, json.dumps(sys.path)]
        more = dict.fromkeys(THREADS, "1") | ({} if visible is None else {VISIBLE: visible})
        try:
            self._process = subprocess.Popen(
                [
                    *(*command, str(project), str(root), self._record),
                    *(str(theirs.fileno()), str(os.getpid()), device),
                ],
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
        """Send a batch to train, or None to stop, with the module path of this process.

        If the trainer has ended, `received` says so.
        """
        self._begins_at = os.fstat(self._printed.fileno()).st_size
        with suppress(OSError):
            self.connection.send(content if content is None else (content, sys.path[:]))

    def interrupt(self) -> None:
        """Interrupt the trainer and the processes that it has started."""
        self._signal(signal.SIGINT)

    def received(self) -> Iterator[Any]:
        """Yield new messages; raises EOFError if the trainer has ended and all were read."""
        has_ended = self.has_ended  # before the last messages are read
        try:
            while self.connection.poll():
                yield self.connection.recv()
        except ConnectionError as error:
            raise EOFError from error
        if has_ended:
            raise EOFError

    def kill(self) -> str:
        """Kill the trainer and all processes that it has started; return how it ended, in words."""
        self._signal(signal.SIGKILL)
        code = self._process.wait()
        self.connection.close()
        self._printed.close()
        remove(Path(self._record))
        if code >= 0:
            return f"exit status {code}: os._exit?"
        name = signal.Signals(-code).name
        return f"{name}: a crash in native code, or killed for memory?"

    def printed(self) -> str:
        """Return the end of the output since the last task, outside of Python's own streams."""
        size = os.fstat(self._printed.fileno()).st_size
        first = max(self._begins_at, size - MOST)
        return os.pread(self._printed.fileno(), size - first, first).decode(errors="replace")

    def _signal(self, number: signal.Signals) -> None:
        with suppress(OSError):  # the process group has ended
            os.killpg(self._process.pid, number)


class _NoInput(io.TextIOBase):
    """Replaces the terminal's input, which a trainer does not have."""

    def readline(self, size: int | None = -1, /) -> NoReturn:
        raise RuntimeError(
            "breakpoint(), pdb or input() asks for input, and training runs in a trainer process:"
            " use -s to train in pytest's own process"
        )

    read = readline


def serve(root: str, handle: str, session: str, device: str) -> None:
    """Train the batches that come over a connection, until the session says stop or ends."""
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
            record.places[:] = sys.path
            _train(content, store, device, connection.send, stopping)
            connection.send(None)


def _listen(connection: Connection, session: int, tasks: SimpleQueue[Any], stopping: Event) -> None:
    """Receive tasks; if the session is gone, kill this process and all that it has started."""
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
    """Train a batch and send its events; raises `Stopped` after a last checkpoint."""
    printed = Printed()
    try:
        with printed.taking():
            batch = unpacked(content)
    except (Exception, SystemExit) as error:
        send(Unread(said_in_full(error), details_of(error, printed.text)))
        return
    sent_at = 0.0

    def show(progress: Progress) -> None:
        nonlocal sent_at
        if time.monotonic() - sent_at >= SECONDS_BETWEEN_WORDS:
            sent_at = time.monotonic()
            send(progress)

    devices, places = numbered_accelerators(device), list(batch.runs)
    files = StoreFiles(store, batch, show=show, devices=devices, is_stopping=stopping.is_set)
    try:
        for event in train_here(batch, device=device, files=files):
            said = stored(event, batch, store)
            send(replace(said, run=places.index(said.run)))  # type: ignore[arg-type]
    except StoreError as error:
        send(error)
    if device == "cuda":  # another process may train there next
        free_memory(device)
