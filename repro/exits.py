"""Keeps code under test from ending the session by `os._exit`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def exit_refused() -> Iterator[None]:
    """Raise within the block if code calls `os._exit`, which would end the whole session.

    With `os._exit(0)` the session would even look successful. A forked child may exit. So may
    another thread with a nonzero status, as a time limit does.

    >>> with exit_refused():
    ...     os._exit(0)
    Traceback (most recent call last):
    RuntimeError: it called os._exit(0), which would end the whole session
    """
    really_exit, process = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        is_main = threading.current_thread() is threading.main_thread()
        if os.getpid() != process or (status and not is_main):
            really_exit(status)
        raise RuntimeError(f"it called os._exit({status}), which would end the whole session")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = really_exit
