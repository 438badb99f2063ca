"""The import of a module that Ctrl-C must not end in the middle."""

from __future__ import annotations

import importlib
import signal
import sys
import threading


def import_whole(name: str) -> None:
    """Import a module; Ctrl-C meanwhile is raised once the module is there.

    In the middle of an import it may become something else: torch's C++ aborts the process, which
    prints a hundred lines of addresses, and a dataclass makes a RuntimeError of it.

    >>> import_whole("torch")
    """
    heard = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if name in sys.modules or not is_main or not callable(heard):
        importlib.import_module(name)
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        importlib.import_module(name)
    finally:
        signal.signal(signal.SIGINT, heard)
        if came:
            signal.raise_signal(signal.SIGINT)
