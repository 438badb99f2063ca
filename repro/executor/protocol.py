"""What the plan asks of a place where runs are trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from repro.arm import Run

if TYPE_CHECKING:
    from repro.executor.pace import PaceBook

ENGINE_NAMES = ("auto", "loop", "stacked")

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
    """How long the missing runs take one such process alone."""

    program: str = ""
    runs: int = 0
    step: int = 0
    total: int = 0
    run_steps_per_second: float = 0.0


Watch = Callable[[Work], None]


class TrainingFailed(Exception):
    """A run could not be trained; says which, and why."""


class TrainingStopped(Exception):
    """Nothing more can be trained now; says why. What is stored stays, and is gone on from."""


class Executor(Protocol):
    """Trains runs and keeps their results."""

    @property
    def pace(self) -> PaceBook: ...

    @property
    def failed(self) -> Mapping[Run, str]:
        """Why runs could not be trained."""

    @property
    def trained(self) -> int:
        """The runs that were trained for this process."""

    @property
    def remarks(self) -> Sequence[str]:
        """What there is to say of how they were trained."""

    def result(self, run: Run) -> Values | None:
        """The stored result of a run; raises `TrainingFailed` where training it failed here."""

    def key(self, run: Run) -> str:
        """What the result of a run is stored under."""

    def work(self, wanted: Wanted, watch: Watch) -> None:
        """Train, together with whoever shares the store, until nothing is wanted any more.

        Raises `TrainingStopped` where that has become impossible.
        """


def require_engine(name: str) -> None:
    """Raises ValueError where there is no such engine."""
    if name not in ENGINE_NAMES:
        raise ValueError(f"There is no engine {name!r}; choose one of {', '.join(ENGINE_NAMES)}.")
