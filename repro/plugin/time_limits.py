"""Suspends the time limit of a test while it waits for training."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class TimeLimits:
    """The time limits of pytest-timeout that run; a plugin of pytest.

    >>> with limits.suspended():
    ...     training.train(runs, plan)
    """

    def __init__(self, config: pytest.Config) -> None:
        self._hook = config.hook
        self._running: dict[pytest.Item, Any] = {}
        """The settings of each limit."""

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> None:
        self._running[item] = settings

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_cancel_timer(self, item: pytest.Item) -> None:
        self._running.pop(item, None)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Suspend the limits within the block; afterwards a test has its whole time again."""
        running = dict(self._running)
        for item in running:
            self._hook.pytest_timeout_cancel_timer(item=item)
        faulthandler.cancel_dump_traceback_later()  # pytest's own `faulthandler_timeout`
        try:
            yield
        finally:
            for item, settings in running.items():
                self._hook.pytest_timeout_set_timer(item=item, settings=settings)
