"""The progress of a session's training, and the time that is left."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Self

from repro.arm import Arm, Run

RATE = 5e9
"""Multiplications per second of one core: a guess, until something was measured.

Runs of the studies here take a third of this guess to three times as long."""


UNKNOWN_WORK = 8 * RATE
"""The multiplications assumed for a run of an arm without `work`: eight seconds of a core."""


def is_timed(arm: Arm) -> bool:
    """Return whether the time of a run can be guessed before one was trained.

    A user's own arm seldom says the effort of a step.
    """
    return arm.work > 0 and arm.effort != 1.0


def work_of(run: Run) -> float:
    """Return the rough number of multiplications of a run."""
    return _work_of(run.arm)


def work_of_all(runs: Iterable[Run]) -> float:
    """Return the rough number of multiplications of runs; a shared training counts once."""
    return sum(map(work_of, dict.fromkeys(run.training for run in runs)))


@cache
def _work_of(arm: Arm) -> float:
    return arm.work or UNKNOWN_WORK


@dataclass
class Pace:
    """The speed of one trainer on the runs of a study by one engine: a guess, until some trained.

    >>> pace = Pace()
    >>> pace.add(work=1e10, seconds=4.0)
    >>> pace.seconds(3e10)
    12.0
    """

    work: float = 0.0
    """The multiplications so far."""
    taken: float = 0.0
    """The seconds that they took."""

    def add(self, *, work: float, seconds: float) -> None:
        """Add finished work."""
        self.work += work
        self.taken += seconds

    def seconds(self, work: float) -> float:
        """Return the expected seconds for a number of multiplications."""
        return work * self.taken / self.work if self.work else work / RATE


@dataclass(frozen=True, kw_only=True)
class Status:
    """The state of a session's plan and of its pool at one moment."""

    claims: int
    open: int
    """Claims that miss runs."""
    requested: int
    """Distinct runs that the claims have asked for so far."""
    missing: int
    seconds_left: float | None = 0.0
    """The expected time for the missing runs; None if nothing is known of some of them."""
    under_way: str = ""
    """The batches in training, in words."""
    waits_for: str = ""
    """What training waits for, in words; empty if it does not wait."""

    @property
    def stored(self) -> int:
        """The number of stored runs."""
        return self.requested - self.missing

    def as_json(self) -> str:
        """Return the status as text for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of `as_json`; raises ValueError or TypeError for any other text."""
        return cls(**json.loads(text))
