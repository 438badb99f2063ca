"""A trainer as its session sees it: a process of this machine, and the connection to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any

from repro.backends.serve import Task
from repro.backends.trainer import MOST
from repro.own.outside import THREADS, VISIBLE
from repro.runs.pool import TrainingStopped

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from multiprocessing.connection import Connection; from repro.backends.serve import serve;"
    " serve(Connection(int(sys.argv[2])), int(sys.argv[3]))"
)
"""Python's own processes would import the session's script once more, and share its terminal."""


class TrainerProcess:
    """A process that trains on the accelerators that it was given, or on a CPU.

    >>> trainer = TrainerProcess("0,1")
    >>> trainer.send(task)
    >>> for event in trainer.received():
    ...     print(event)
    """

    def __init__(self, visible: str | None) -> None:
        self.visible = visible
        self.connection, theirs = Pipe()
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `kill`
        self._begins_at = 0
        command = [sys.executable, "-c", START, json.dumps(sys.path)]
        more = dict.fromkeys(THREADS, "1") | ({} if visible is None else {VISIBLE: visible})
        try:
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), str(os.getpid())],
                env={**os.environ, **more},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                process_group=0,  # see repro.backends.serve
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

    def send(self, task: Task | None) -> bool:
        """Give it something to train, or None to stop; return whether it was there to take it."""
        self._begins_at = os.fstat(self._printed.fileno()).st_size
        try:
            self.connection.send(task)
        except OSError:
            return False
        return True

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
