"""The progress of a session: how far one process and its plan are, for whoever watches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Self

BELIEVED = 60.0
"""The seconds after which what was done counts as much as the number of slots."""


@dataclass(frozen=True)
class Training:
    """The jobs that a process has under way, added up."""

    name: str
    runs: int
    step: int
    total: int
    steps_per_second: float


@dataclass(frozen=True)
class Status:
    """The state of one process and of the plan when it last looked at it."""

    claims: int
    decided: int
    """Claims that came to a verdict, or need no further run."""

    asked: int
    """Distinct runs that the claims have asked for so far."""

    missing: int
    likely: float
    """The number of further runs that the claims are expected to ask for."""

    looked_at: float
    """The time of that look, by a clock that all processes of a machine share."""

    seconds_left: float
    """The seconds that the missing runs and the likely ones take one after another."""

    began: float
    """The time at which this process began to train, by the same clock."""

    done: float
    """The seconds of what was trained and timed since, whoever did it."""

    slots: int
    """The number of jobs that all processes together carry out at the same time."""

    seen_at: float = 0.0
    """The time at which this process last saw its jobs, by the same clock."""

    under_way: float = 0.0
    """The seconds of it that its jobs had done then."""

    before: float = 0.0
    """The seconds of these that they had done when they began, by their checkpoints."""

    a_second: float = 0.0
    """The seconds of it that these jobs do in one."""

    longest: float = 0.0
    """The seconds that the longest of these jobs would still take then."""

    training: Training | None = None

    waits_for: str = ""
    """The thing that the process has waited for long, in words; empty where it has not."""

    @property
    def stored(self) -> int:
        """Runs that were there at that look."""
        return self.asked - self.missing

    def gone_on(self, now: float) -> Self:
        """Return the same with its jobs as they are if they went on since they were last seen."""
        since = min(max(0.0, now - self.seen_at), self.longest)
        under_way = self.under_way + self.a_second * since
        return replace(self, under_way=under_way, longest=self.longest - since)

    def as_json(self) -> str:
        """Return it as text, for another process to read."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `as_json` wrote; raises ValueError or TypeError where it is not that."""
        content = json.loads(text)
        training = content["training"]
        return cls(**{**content, "training": Training(**training) if training else None})


def seconds_left(statuses: Sequence[Status], *, now: float) -> float:
    """Return how long the session will take from now, by the newest look at the plan.

    On paper all slots train all the time. In life programs are timed, plans are read, and others
    want the same cores; so what was done since the session began counts more and more. Jobs that
    say something rarely are taken to go on in between.

    >>> seconds_left([status], now=time.monotonic())
    1234.5
    """
    statuses = [status.gone_on(now) for status in statuses]
    newest = newest_of(statuses)
    under_way = sum(status.under_way for status in statuses)
    since = under_way - sum(status.before for status in statuses)
    done = newest.done + since + newest.slots * BELIEVED
    pace = min(done / (now - newest.began + BELIEVED), newest.slots)
    left = (newest.seconds_left - under_way) / pace
    return max(0.0, left, *(status.longest for status in statuses))


def newest_of(statuses: Sequence[Status]) -> Status:
    """Return the status of the process that looked at the plan last."""
    return max(statuses, key=lambda status: status.looked_at)
