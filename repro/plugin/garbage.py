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
"""New objects after which Python looks for garbage among them, in a session that is spared."""

_USUAL = pytest.StashKey[tuple[int, int, int]]()
"""The thresholds of Python's garbage collector before the session was spared."""


def spare(config: pytest.Config) -> None:
    """Let Python look for garbage less often, and never among what `keep` keeps.

    For a session that has claims only.
    """
    if _USUAL not in config.stash:
        config.stash[_USUAL] = usual = gc.get_threshold()
        if usual[0]:  # 0: it is switched off
            gc.set_threshold(max(usual[0], SELDOM), *usual[1:])
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)  # Python promises nothing of what is found at its end


def keep(config: pytest.Config) -> None:
    """Take all objects that there are for none of Python's garbage, if the session is spared."""
    if _USUAL in config.stash:
        gc.freeze()


def let_go(config: pytest.Config) -> None:
    """Give up what is kept, and look as often as before: the process may go on."""
    if _USUAL in config.stash:
        gc.unfreeze()
        gc.set_threshold(*config.stash[_USUAL])


@contextmanager
def looked_for_as_usual(config: pytest.Config) -> Iterator[None]:
    """Let Python look for garbage as often as ever while something is trained."""
    seldom = gc.get_threshold()
    gc.set_threshold(*config.stash.get(_USUAL, seldom))
    try:
        yield
    finally:
        gc.set_threshold(*seldom)
