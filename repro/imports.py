"""Delays Ctrl-C where it would leave work half done, such as the import of a module."""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block.

    >>> with interrupts_held():
    ...     event = connection.recv()  # an interrupt would leave half of a message
    """
    heard = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(heard):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)
        if came:
            signal.raise_signal(signal.SIGINT)


def import_whole(name: str) -> None:
    """Import a module, and delay Ctrl-C until it is imported.

    Within an import, Ctrl-C may turn into another error: torch's C++ aborts the process with a
    hundred lines of addresses, and a dataclass raises a RuntimeError.

    >>> import_whole("torch")
    """
    if name in sys.modules:
        return
    with interrupts_held():
        importlib.import_module(name)
