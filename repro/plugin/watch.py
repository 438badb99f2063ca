"""Notes that the processes of a session leave for the display: their progress, and what is settled.

xdist shows nothing that a worker prints and carries no events of its own, hence files: one folder a
session, in which each process has a status that it replaces, and a list that only grows.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from repro.files import write_beside
from repro.report.settled import SettledClaim
from repro.runs.progress import Status

T = TypeVar("T")

SECONDS_BETWEEN_FILES = 0.5

STATUS, SETTLED, STOP, TRAINED = ".status", ".settled", "stop", "trained"


class EnoughFailed(Exception):
    """So many claims have failed as `--maxfail` allows; nothing more is to be trained."""


class Watch:
    """The side of a process that works on claims. Without a folder it leaves nothing.

    >>> watch = Watch(folder)
    >>> if watch.is_first("004/climbs"):
    ...     watch.settle(settled_claim(record, fails=False, about_a_document=False))
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._written = 0.0

    def status(self, status: Status) -> None:
        """Leave a status, unless one was just left; raises `EnoughFailed` where that is so."""
        if self._folder is None or time.monotonic() - self._written < SECONDS_BETWEEN_FILES:
            return
        if (self._folder / STOP).exists():
            raise EnoughFailed
        try:
            write_beside(self._folder / f"{os.getpid()}{STATUS}", status.as_json())
        except OSError:
            return  # no room, or the reader has gone; losing one loses nothing
        self._written = time.monotonic()

    def is_first(self, name: str) -> bool:
        """Return whether no process of the session has asked for this name before."""
        if self._folder is None:
            return False
        mark = self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.first"
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except OSError:
            return False
        return True

    def settle(self, claim: SettledClaim) -> None:
        """Announce a claim that came to its end."""
        self._add(claim.as_json())

    def say(self, line: str) -> None:
        """Have a line shown, such as what is about to be trained."""
        self._add(json.dumps(line))

    def finish(self) -> None:
        """Leave word that this process has trained: pytest runs the claims' tests now."""
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / TRAINED).touch()

    def _add(self, line: str) -> None:
        if self._folder is None:
            return
        try:
            with (self._folder / f"{os.getpid()}{SETTLED}").open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError:
            return


class WatchedFolder:
    """The side of the display: what has been left since it was last read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[Path, int] = {}

    def statuses(self) -> list[Status]:
        """Return the status of each process that has left one."""
        return _sound(Status.from_json, [_text(path) for path in self.path.glob(f"*{STATUS}")])

    def news(self) -> list[str | SettledClaim]:
        """Return the lines and the claims that are new, in the order of each process."""
        lines: list[str] = []
        for path in sorted(self.path.glob(f"*{SETTLED}")):
            text = _text(path, start=self._read.get(path, 0))
            whole = text[: text.rfind("\n") + 1]  # a line may still be written
            self._read[path] = self._read.get(path, 0) + len(whole.encode())
            lines += whole.split("\n")[:-1]
        return _sound(_line_or_claim, lines)

    def is_trained(self) -> bool:
        """Tell whether a process has trained all that its claims need."""
        return (self.path / TRAINED).exists()

    def stop_training(self) -> None:
        """Let the processes know that nothing more is to be trained."""
        (self.path / STOP).touch()


def _line_or_claim(text: str) -> str | SettledClaim:
    return str(json.loads(text)) if text.startswith('"') else SettledClaim.from_json(text)


def _text(path: Path, *, start: int = 0) -> str:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _sound(read: Callable[[str], T], texts: list[str]) -> list[T]:
    """Return what can be read; the others are not whole, or another program's."""
    found = []
    for text in texts:
        try:
            found.append(read(text))
        except (ValueError, TypeError, KeyError):
            continue
    return found
