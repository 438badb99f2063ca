"""The output of training, kept for the case that it fails, and the traceback that goes with it."""

from __future__ import annotations

import io
import traceback
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MOST = 4000
"""Characters that are kept of what was printed, the last ones."""

FRAMES = 12
"""Frames of a traceback that are shown, the innermost ones."""

OURS = str(Path(__file__).parents[1])


class Printed(io.TextIOBase):
    """A file that keeps the end of what is written to it.

    >>> printed = Printed()
    >>> print("epoch 1", file=printed)
    >>> printed.text
    'epoch 1\\n'
    """

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text = (self.text + text)[-MOST:]
        return len(text)


def printing_into(printed: Printed, events: Iterable[T]) -> Iterator[T]:
    """Yield events; what is printed on the way to each goes into a file and not on the screen."""
    coming = iter(events)
    while True:
        with redirect_stdout(printed), redirect_stderr(printed):
            event = next(coming, None)
        if event is None:
            return
        yield event


def details_of(error: BaseException, printed: str) -> str:
    """Return the traceback of an error from where it leaves repro, and what was printed before."""
    told = traceback.TracebackException.from_exception(error, limit=-FRAMES)
    theirs = [frame for frame in told.stack if not frame.filename.startswith(OURS)]
    first = told.stack.index(theirs[0]) if theirs else 0
    told.stack = traceback.StackSummary.from_list(told.stack[first:])
    text = "".join(told.format())
    return f"{text}It had printed:\n{printed}" if printed.strip() else text
