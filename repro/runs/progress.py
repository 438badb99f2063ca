"""How far the training of a session is, and how long it still takes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

RATE = 1.5e10
"""Multiplications a second of one core, to guess by before anything was done."""


@dataclass
class Pace:
    """The time that one trainer takes for the runs of a study: a guess, until some were trained.

    Each study has its own: small networks do a tenth of the multiplications a second of large ones,
    and runs that stop early do a tenth of those that were expected.

    >>> pace = Pace()
    >>> pace.add(work=1e10, seconds=4.0)
    >>> pace.seconds(3e10)
    12.0
    """

    work: float = 0.0
    """The multiplications that were done."""
    taken: float = 0.0
    """The seconds that they took."""

    def add(self, *, work: float, seconds: float) -> None:
        """Take note of what was done."""
        self.work += work
        self.taken += seconds

    def seconds(self, work: float) -> float:
        """Return the seconds that so many multiplications will take."""
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
    seconds_left: float = 0.0
    """The time that the runs will take which the claims have asked for so far."""
    under_way: str = ""
    """The batches under way, in words."""
    waits_for: str = ""
    """The thing that training has waited for long, in words; empty where it has not."""

    @property
    def stored(self) -> int:
        """Runs that are there."""
        return self.requested - self.missing

    def as_json(self) -> str:
        """Return it as text, for another process to read."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `as_json` wrote; raises ValueError or TypeError where it is not that."""
        return cls(**json.loads(text))
