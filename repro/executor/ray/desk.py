"""Where the nodes of a cluster leave what they have for the process that asked.

One desk a session, on the head node: it outlives any worker node. A batch that Ray starts again,
because its node was lost, finds here what it had come to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Place = tuple[int, int]
"""A run on its way: the number of its batch, and its place in it."""


class Progress(NamedTuple):
    """Where a batch is."""

    runs: int
    step: int
    total: int


@dataclass(frozen=True)
class Done:
    """A run's result."""

    values: dict[str, Any]
    how: dict[str, Any]
    weights: bytes | None


@dataclass(frozen=True)
class Failed:
    """Why a run could not be trained."""

    why: str


End = Done | Failed


@dataclass
class News:
    """What has come in since it was last asked for."""

    serial: int
    ends: list[tuple[Place, End]] = field(default_factory=list)
    checkpoints: list[tuple[Place, bytes]] = field(default_factory=list)
    progress: dict[int, Progress] = field(default_factory=dict)
    widest: dict[int, int] = field(default_factory=dict)


class Desk:
    """An actor: one process, one call at a time."""

    def __init__(self) -> None:
        self.serial = 0
        self.ends: dict[Place, tuple[int, End]] = {}
        self.checkpoints: dict[Place, tuple[int, bytes]] = {}
        self.progress: dict[int, Progress] = {}
        self.widest: dict[int, int] = {}

    def is_there(self) -> bool:
        """Asked by who waits for something else."""
        return True

    def end(self, place: Place, end: End) -> None:
        """Take the end of a run; where it came to one twice, both are the same."""
        self.serial += 1
        self.ends[place] = (self.serial, end)
        self.checkpoints.pop(place, None)

    def keep(self, place: Place, payload: bytes) -> None:
        """Take a checkpoint in place of the last one."""
        self.serial += 1
        self.checkpoints[place] = (self.serial, payload)

    def hear(self, batch: int, progress: Progress) -> None:
        """Take a sign of life."""
        self.progress[batch] = progress

    def fits(self, batch: int, width: int) -> None:
        """Take note that memory held no more runs of a batch at once."""
        self.widest[batch] = width

    def come_to(self, batch: int, count: int) -> tuple[set[int], dict[int, bytes]]:
        """What a batch of so many runs had come to: the places that ended, and checkpoints."""
        places = [(batch, place) for place in range(count)]
        ended = {place for _, place in places if (batch, place) in self.ends}
        kept = {p[1]: self.checkpoints[p][1] for p in places if p in self.checkpoints}
        return ended, kept

    def collect(self, seen: int, over: Sequence[int]) -> News:
        """What came in after the news of that serial number; forgets the batches that are over.

        Nothing is forgotten for having been sent: an answer may be lost on its way.
        """
        gone = set(over)
        for known in (self.ends, self.checkpoints):
            for place in [place for place in known if place[0] in gone]:
                del known[place]
        for batch in gone:
            self.progress.pop(batch, None)
            self.widest.pop(batch, None)
        return News(
            self.serial,
            [(place, end) for place, (serial, end) in self.ends.items() if serial > seen],
            [(place, x) for place, (serial, x) in self.checkpoints.items() if serial > seen],
            dict(self.progress),
            dict(self.widest),
        )
