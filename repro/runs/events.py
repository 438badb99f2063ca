"""The events that come back from where jobs are carried out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from repro.arm import Run
from repro.core.progress import Progress
from repro.core.speed import Speed


@dataclass(frozen=True)
class Trained:
    """A run has its result: what it measured, where and how long it trained, its parameters."""

    run: Run
    values: dict[str, Any]
    provenance: dict[str, Any]
    weights: bytes | None = None
    """The parameters that it ended with, where its arm keeps them."""


@dataclass(frozen=True)
class Failed:
    """A run could not be trained; `why` is a sentence that names it."""

    run: Run
    why: str
    details: str = ""
    """The traceback and what was printed, where training raised."""


@dataclass(frozen=True)
class Narrowed:
    """Memory held no more than `width` runs of a program at once."""

    program: str
    width: int


@dataclass(frozen=True)
class Advanced:
    """The runs of a batch have taken some steps."""

    job: int
    progress: Progress


@dataclass(frozen=True)
class Timed:
    """The engine of a program is settled by its speed."""

    job: int
    speed: Speed


@dataclass(frozen=True)
class Ended:
    """Nothing further comes of a job."""

    job: int


Event = Trained | Failed | Narrowed | Advanced | Timed | Ended
