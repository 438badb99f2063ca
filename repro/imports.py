"""Holds Ctrl-C back where it would leave work half done, such as the import of a module."""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block, where it is raised.

    >>> with interrupts_held():
    ...     event = connection.recv()  # else the next reader would begin in the middle of it
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
    """Import a module; Ctrl-C meanwhile is raised once the module is there.

    In the middle of an import it may become something else: torch's C++ aborts the process, which
    prints a hundred lines of addresses, and a dataclass makes a RuntimeError of it.

    >>> import_whole("torch")
    """
    if name in sys.modules:
        return
    with interrupts_held():
        importlib.import_module(name)
