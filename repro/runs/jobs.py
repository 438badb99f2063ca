"""The jobs that backends carry out: timing a program, and training a batch of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from repro.arm import Arm, Run
from repro.core.speed import Speed


@dataclass(frozen=True)
class Start:
    """The stored run whose parameters the runs of a job start from."""

    run: Run
    key: str


@dataclass(frozen=True)
class Timing:
    """Time some arms of one program, by all engines that `engine` allows."""

    number: int
    arms: Sequence[Arm]
    engine: str
    start: Start | None
    held: ExitStack = field(repr=False)
    """The program's lock."""

    @property
    def arm(self) -> Arm:
        """An arm of the program."""
        return self.arms[0]


@dataclass(frozen=True)
class Batch:
    """Train runs of one program together, each to be stored under its key."""

    number: int
    runs: Sequence[Run]
    keys: Sequence[str]
    speed: Speed
    start: Start | None
    held: ExitStack = field(repr=False)
    """The runs' locks: nobody else trains them."""

    @property
    def arm(self) -> Arm:
        """An arm of the program, which the batch is called after."""
        return self.runs[0].arm


Job = Timing | Batch
