"""Calls the test of a claim outside of pytest's own run of it."""

from __future__ import annotations

import io
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
    """Call a claim's test with those of these fixtures that it takes, and with its parameters."""
    assert isinstance(item, pytest.Function)
    taken = {name: x for name, x in fixtures.items() if name in item.fixturenames}
    item.obj(**parameters_of(item), **taken)


@contextmanager
def quiet() -> Iterator[None]:
    """Show nothing of what is printed and warned of within the block.

    >>> with quiet():
    ...     print("hello")
    """
    nowhere = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(nowhere), redirect_stderr(nowhere):
        warnings.simplefilter("ignore")
        yield
