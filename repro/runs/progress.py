"""How far the training of a session is, and how long it still takes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

RATE = 3.2e10
"""Multiplications a second of one core, to guess by before anything was done."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """The state of a session's plan and of its pool at one moment."""

    claims: int
    open: int
    """Claims that miss runs."""
    asked: int
    """Distinct runs that the claims have asked for so far."""
    missing: int
    seconds: float = 0.0
    """The time since training began."""
    done: float = 0.0
    """The multiplications that were done since, also of batches that are under way."""
    left: float = 0.0
    """The multiplications that are left, as far as the claims have asked."""
    trainers: int = 1
    under_way: str = ""
    """The batches under way, in words."""
    waits_for: str = ""
    """The thing that training has waited for long, in words; empty where it has not."""

    @property
    def stored(self) -> int:
        """Runs that are there."""
        return self.asked - self.missing

    @property
    def seconds_left(self) -> float:
        """The time so far, in proportion to what is left; a guess while nothing is done."""
        if self.done and self.seconds:
            return self.seconds * self.left / self.done
        return self.left / RATE / self.trainers

    def as_json(self) -> str:
        """Return it as text, for another process to read."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `as_json` wrote; raises ValueError or TypeError where it is not that."""
        return cls(**json.loads(text))
