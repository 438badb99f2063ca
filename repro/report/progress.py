"""The line that is shown while claims train: how far it is, what is in training, how long yet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from repro.executor.protocol import Work


@dataclass(frozen=True)
class Status:
    """What one process last said of itself and of the plan."""

    claims: int
    decided: int
    """Claims that came to a verdict, or need no further run."""

    asked: int
    """Distinct runs that the claims have asked for so far."""

    work: Work

    @property
    def stored(self) -> int:
        """Runs that were there when it last looked."""
        return self.asked - self.work.missing

    def as_json(self) -> str:
        """As text, for another process to read."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `as_json` wrote; raises ValueError or TypeError where it is not that."""
        found = json.loads(text)
        return cls(**{**found, "work": Work(**found["work"])})


def progress_line(statuses: Sequence[Status], *, now: float, cores: int, width: int) -> str:
    """One line of at most `width` characters; the newest look at the plan counts.

    >>> work = Work(looked_at=0, missing=60, seconds_left=90)
    >>> status = Status(claims=66, decided=12, asked=255, work=work)
    >>> progress_line([status], now=10, cores=2, width=79)
    '195/255 runs, 12/66 claims decided, about 1:20 left'
    """
    newest = _newest(statuses)
    side_by_side = min(len(statuses), cores)
    left = newest.work.seconds_left / side_by_side - (now - newest.work.looked_at)
    line = (
        f"{newest.stored}/{newest.asked} runs, {newest.decided}/{newest.claims} claims decided,"
        f" about {_clock(max(0.0, left))} left"
    )
    for work in sorted((status.work for status in statuses), key=lambda work: work.program):
        if work.runs:
            line += f" | {work.program} x{work.runs} {work.step}/{work.total}"
            if work.run_steps_per_second:  # unknown at a batch's first beat
                line += f" ({work.run_steps_per_second:.0f}/s)"
    return line if len(line) <= width else line[: width - 1] + "…"


def stopped_line(statuses: Sequence[Status]) -> str:
    """What stands when a session was stopped, and how to go on."""
    newest = _newest(statuses)
    return (
        f"stopped with at least {newest.stored} of {newest.asked} runs stored;"
        " the same command goes on from there, and from the checkpoints of those in training"
    )


def _newest(statuses: Sequence[Status]) -> Status:
    return max(statuses, key=lambda status: status.work.looked_at)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
