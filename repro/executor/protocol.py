"""What the plan asks of a place where runs are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from repro.arm import Run

Values = dict[str, Any]

Wanted = Callable[[], Sequence[Run]]
"""The runs that are still missing, in any order; asked again as results come in."""


@dataclass(frozen=True)
class Work:
    """What an executor is doing, for whoever watches: what was missing, and what is in training."""

    looked_at: float
    """When it last asked for what is missing, in seconds."""

    missing: int
    seconds_left: float
    """How long the missing runs take one process."""

    program: str = ""
    runs: int = 0
    step: int = 0
    total: int = 0
    run_steps_per_second: float = 0.0


Watch = Callable[[Work], None]


class TrainingFailed(Exception):
    """A run could not be trained; says which, and why."""


class Executor(Protocol):
    """Trains runs and keeps their results."""

    def result(self, run: Run) -> Values | None:
        """The stored result of a run; raises `TrainingFailed` where training it failed here."""

    def key(self, run: Run) -> str:
        """What the result of a run is stored under."""

    def work(self, wanted: Wanted, watch: Watch) -> None:
        """Train, together with whoever shares the store, until nothing is wanted any more."""
