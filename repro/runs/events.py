"""The events that come back from where jobs are carried out."""

from __future__ import annotations

from dataclasses import dataclass

from repro.core.progress import Progress
from repro.core.speed import Speed
from repro.runs.pool import Failed as Failed
from repro.runs.pool import Narrowed as Narrowed
from repro.runs.pool import Trained as Trained


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
