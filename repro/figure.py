"""The decorator that makes a test a figure of a source, drawn from the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


def figure(title: str, *, source: str, x: str, y: str) -> Callable[[Test], Test]:
    """Mark a test as a figure; it runs, and trains nothing, where `--report` is given.

    `x` labels the horizontal axis and `y` is the metric drawn.

    >>> @figure("Which rules use depth", source="004", x="trained blocks", y="accuracy")
    ... def test_figure(plot):
    ...     plot.panel("d=256").line("BP", D256_L4.ladder(), at=range(5))
    """
    import pytest  # here, so that training code can import repro without it

    mark: Callable[[Test], Test] = pytest.mark.figure(title, source=source, x=x, y=y)
    return mark
