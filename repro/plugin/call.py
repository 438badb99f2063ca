"""Calls the test of a claim outside of pytest's own run of it."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import pytest
from _pytest.skipping import evaluate_xfail_marks

FIXTURES = {"trials", "document"}


def parameters_of(item: pytest.Item) -> dict[str, Any]:
    """Return the values that a test is parametrized with."""
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec else {}


def needed_of_pytest(item: pytest.Item) -> list[str]:
    """Return what only pytest can give a claim, when its test is run: fixtures, a set-up class."""
    assert isinstance(item, pytest.Function)
    arguments = [name for name in item._fixtureinfo.argnames if name not in FIXTURES]
    given = parameters_of(item).keys()
    set_up = [name for name in ("setup_method", "setup_class") if hasattr(item.cls, name)]
    return [name for name in arguments if name not in given] + set_up


def is_called_alike(item: pytest.Item) -> bool:
    """Return whether `call` comes to the same as pytest: nothing else has a part in the test."""
    others = set(getattr(item, "fixturenames", ())) - FIXTURES - parameters_of(item).keys()
    return not others - {"request"} and evaluate_xfail_marks(item) is None


def call(item: pytest.Item, **fixtures: Any) -> None:
    """Call a claim's test with these fixtures and its parameters; what it prints is not shown."""
    with listening():
        call_loudly(item, **fixtures)


def call_loudly(item: pytest.Item, **fixtures: Any) -> None:
    """Call a claim's test with these fixtures and its parameters."""
    assert isinstance(item, pytest.Function)
    item.obj(**parameters_of(item), **fixtures)


class Heard:
    """Tells whether a test printed, logged or warned of anything while it was called."""

    def __init__(self) -> None:
        self.printed = io.StringIO()
        self.warned: list[warnings.WarningMessage] = []
        self.logged = 0

    def __bool__(self) -> bool:
        return bool(self.printed.tell() or self.warned or self.logged)


class _Counting(logging.Handler):
    """A handler of logs that counts them."""

    records = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.records += 1


_LOGS = _Counting()


@contextmanager
def listening() -> Iterator[Heard]:
    """Catch what is printed, logged and warned of; none of it is shown.

    >>> with listening() as heard:
    ...     print("hello")
    >>> bool(heard)
    True
    """
    heard, root, before = Heard(), logging.getLogger(), _LOGS.records
    root.addHandler(_LOGS)
    try:
        with (
            warnings.catch_warnings(record=True) as heard.warned,
            redirect_stdout(heard.printed),
            redirect_stderr(heard.printed),
        ):
            warnings.simplefilter("always")  # pytest has filters of its own while a test runs
            yield heard
    finally:
        root.removeHandler(_LOGS)
        heard.logged = _LOGS.records - before
