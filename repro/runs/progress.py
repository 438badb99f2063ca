"""The progress of a session: how far one process and its plan are, for whoever watches."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from repro.core.progress import Progress


@dataclass(frozen=True)
class Training:
    """The jobs that a process has under way, added up."""

    name: str
    runs: int
    step: int
    total: int
    run_steps_per_second: float


@dataclass(frozen=True)
class Status:
    """The state of one process and of the plan when it last looked at it."""

    claims: int
    decided: int
    """Claims that came to a verdict, or need no further run."""

    asked: int
    """Distinct runs that the claims have asked for so far."""

    missing: int
    looked_at: float
    """The time of that look, in seconds."""

    seconds_left: float
    """The seconds that the missing runs take one after another."""

    slots: int
    """The number of jobs that all processes together carry out at the same time."""

    training: Training | None = None

    waits_for: str = ""
    """The thing that the process has waited for long, in words; empty where it has not."""

    @property
    def stored(self) -> int:
        """Runs that were there at that look."""
        return self.asked - self.missing

    def as_json(self) -> str:
        """Return it as text, for another process to read."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `as_json` wrote; raises ValueError or TypeError where it is not that."""
        content = json.loads(text)
        training = content["training"]
        return cls(**{**content, "training": Training(**training) if training else None})


class Pace:
    """The steps that a job takes in a second, from its first progress to its last."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.last: Progress | None = None
        self._since, self._first_step = 0.0, 0

    def add(self, progress: Progress) -> None:
        """Take in how far the job is now."""
        if self.last is None:
            self._since, self._first_step = time.monotonic(), progress.step
        self.last = progress

    @property
    def run_steps_per_second(self) -> float:
        """Steps of runs in a second; 0 while one cannot tell."""
        if self.last is None or self.last.step == self._first_step:
            return 0.0
        steps = (self.last.step - self._first_step) * self.last.runs
        return steps / (time.monotonic() - self._since)


def training_of(paces: Sequence[Pace]) -> Training | None:
    """Return the jobs that have begun, added up; None where none has."""
    begun = [(pace, pace.last) for pace in paces if pace.last is not None]
    if not begun:
        return None
    return Training(
        begun[0][0].name if len(begun) == 1 else f"{len(begun)} batches",
        runs=sum(last.runs for _, last in begun),
        step=sum(last.step for _, last in begun),
        total=sum(last.total for _, last in begun),
        run_steps_per_second=sum(pace.run_steps_per_second for pace, _ in begun),
    )
