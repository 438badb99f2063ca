"""The mailbox in which a cluster's nodes leave results for the process that asked.

There is one for each process that asks, on the head node: it outlives any worker node. A batch that
Ray starts again, because its node was lost, finds here what it had already done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from repro.core.progress import Progress


class Place(NamedTuple):
    """A run on its way: the number of its batch, and its place in it."""

    batch: int
    run: int


@dataclass(frozen=True)
class Done:
    """The result of a run."""

    values: dict[str, Any]
    provenance: dict[str, Any]
    weights: bytes | None


@dataclass(frozen=True)
class NotDone:
    """The reason why a run could not be trained."""

    why: str
    details: str = ""
    """The traceback and what was printed, where training raised."""


End = Done | NotDone


@dataclass
class Mail:
    """Everything that has come in since the mailbox was last emptied."""

    serial: int
    ends: list[tuple[Place, End]] = field(default_factory=list)
    checkpoints: list[tuple[Place, bytes]] = field(default_factory=list)
    progress: dict[int, Progress] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)


class Mailbox:
    """An actor: one process, one call at a time."""

    def __init__(self) -> None:
        self.serial = 0
        self.ends: dict[Place, tuple[int, End]] = {}
        self.checkpoints: dict[Place, tuple[int, bytes]] = {}
        self.progress: dict[int, Progress] = {}
        self.widths: dict[int, int] = {}

    def leave_end(self, place: Place, end: End) -> None:
        """Take the end of a run; where it came to one twice, both are the same."""
        self.serial += 1
        self.ends[place] = (self.serial, end)
        self.checkpoints.pop(place, None)

    def leave_checkpoint(self, place: Place, payload: bytes) -> None:
        """Take a checkpoint in place of the last one."""
        self.serial += 1
        self.checkpoints[place] = (self.serial, payload)

    def leave_progress(self, batch: int, progress: Progress) -> None:
        """Take the progress of a batch in place of the last one."""
        self.progress[batch] = progress

    def leave_width(self, batch: int, width: int) -> None:
        """Take note that memory held no more runs of a batch at once."""
        self.widths[batch] = width

    def state_of(self, batch: int, count: int) -> tuple[set[int], dict[int, bytes]]:
        """Return which of a batch's runs have ended, and the checkpoints of the others."""
        places = [Place(batch, run) for run in range(count)]
        ended = {place.run for place in places if place in self.ends}
        kept = {p.run: self.checkpoints[p][1] for p in places if p in self.checkpoints}
        return ended, kept

    def collect(self, seen: int, over: Sequence[int]) -> Mail:
        """Return what came in after the mail of that serial number; forget batches that are over.

        Nothing is forgotten for having been sent: an answer may be lost on its way.
        """
        gone = set(over)
        for known in (self.ends, self.checkpoints):
            for place in [place for place in known if place.batch in gone]:
                del known[place]
        for batch in gone:
            self.progress.pop(batch, None)
            self.widths.pop(batch, None)
        return Mail(
            self.serial,
            [(place, end) for place, (serial, end) in self.ends.items() if serial > seen],
            [(place, x) for place, (serial, x) in self.checkpoints.items() if serial > seen],
            dict(self.progress),
            dict(self.widths),
        )
