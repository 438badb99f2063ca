"""What the plan asks of a place where runs are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from repro.arm import Run

Values = dict[str, Any]

Wanted = Callable[[], Sequence[Run]]
"""The runs that are still missing, in any order; asked again as results come in."""


class TrainingFailed(Exception):
    """A run could not be trained; says which, and why."""


class Executor(Protocol):
    """Trains runs and keeps their results."""

    def result(self, run: Run) -> Values | None:
        """The stored result of a run; raises `TrainingFailed` where training it failed here."""

    def work(self, wanted: Wanted) -> None:
        """Train, together with whoever shares the store, until nothing is wanted any more."""
