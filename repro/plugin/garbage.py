"""Spares Python the search for garbage among claims and results, which stay to the session's end.

Python looks through all objects again and again, which takes seconds where thousands of claims are.
pytest looks for tests that leave garbage whose end raises: where there are tests besides claims,
Python's garbage is left to them.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SELDOM = 20_000
"""New objects after which Python looks for garbage among them, while claims are read; else 700."""

_IS_SPARED = pytest.StashKey[bool]()


def spare(config: pytest.Config) -> None:
    """Let no search be made for what `keep` keeps; for a session that has claims only."""
    config.stash[_IS_SPARED] = True
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)  # Python promises nothing of what is found at its end


def keep(config: pytest.Config) -> None:
    """Take all objects that there are for none of Python's garbage, if the session is spared."""
    if config.stash.get(_IS_SPARED, False):
        gc.freeze()


def let_go(config: pytest.Config) -> None:
    """Give up what is kept: the process may go on."""
    if config.stash.get(_IS_SPARED, False):
        gc.unfreeze()


@contextmanager
def seldom() -> Iterator[None]:
    """Let Python look for garbage less often; what is garbage is still found."""
    usual = gc.get_threshold()
    if usual[0]:  # 0: it is switched off
        gc.set_threshold(max(usual[0], SELDOM), *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
