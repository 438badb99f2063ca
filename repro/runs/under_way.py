"""The jobs that are under way: how far each is, and how long it still takes."""

from __future__ import annotations

from collections.abc import Sequence

from repro.core.progress import Progress
from repro.runs.progress import Training

MEASURED = 30.0
"""The seconds after which the pace of a job counts as much as what was expected of it."""


class JobUnderWay:
    """A job since it began: what it was expected to take, and what it has told of its steps.

    `share` is that of its steps which it is likely to take, where it can stop early.

    >>> job = JobUnderWay("BP k=4", began=0.0, expected=600.0)
    >>> job.add(Progress(runs=3, step=0, total=1000), now=10.0)
    >>> job.add(Progress(runs=3, step=400, total=1000), now=3970.0)
    >>> job.left(now=3970.0) > 5000
    True
    """

    def __init__(self, name: str, *, began: float, expected: float, share: float = 1.0) -> None:
        self.name, self.began, self.expected = name, began, expected
        self._share = share
        self.last: Progress | None = None
        self._first_step = 0
        self._first_at = self._last_at = began

    def add(self, progress: Progress, *, now: float) -> None:
        """Take in how far the job is now."""
        if self.last is None:
            self._first_step, self._first_at = progress.step, now
        self.last, self._last_at = progress, now

    def steps_per_second(self, now: float) -> float:
        """Return its steps in a second, as `step` counts them; 0 while one cannot tell."""
        if self.last is None or self.last.step == self._first_step:
            return 0.0
        return (self.last.step - self._first_step) / (now - self._first_at)

    @property
    def before(self) -> float:
        """The share that was done when it began: what it told first, less what it can have done."""
        if self.last is None or not self.expected:
            return 0.0
        since = (self._first_at - self.began) / self.expected
        return max(0.0, self._told(self._first_step) - since)

    def done(self, now: float) -> float:
        """Return the share that is done, if it went on since it last told."""
        if self.last is None:
            return min(1.0, (now - self.began) / self.expected) if self.expected else 1.0
        return min(1.0, self._told(self.last.step) + self.pace * (now - self._last_at))

    def left(self, now: float) -> float:
        """Return the seconds that it still takes; 0 where it takes longer than anybody knows."""
        return (1.0 - self.done(now)) / self.pace if self.pace else 0.0

    @property
    def pace(self) -> float:
        """The share that it does in a second: as expected at first, then as it tells."""
        if not self.expected:
            return 0.0
        usual = 1.0 / self.expected
        if self.last is None:
            return usual
        told = self._told(self.last.step) - self._told(self._first_step)
        measured = self._last_at - self._first_at
        return (told + MEASURED * usual) / (measured + MEASURED)

    def _told(self, step: int) -> float:
        """Return the share of the job that is done after a step."""
        assert self.last is not None
        whole = self._share * self.last.total
        return min(1.0, step / whole) if whole else 1.0


def training_of(jobs: Sequence[JobUnderWay], *, now: float) -> Training | None:
    """Return the jobs that have begun, added up; None where none has."""
    begun = [(job, job.last) for job in jobs if job.last is not None]
    if not begun:
        return None
    return Training(
        begun[0][0].name if len(begun) == 1 else f"{len(begun)} batches",
        runs=sum(last.runs for _, last in begun),
        step=sum(last.step for _, last in begun),
        total=sum(last.total for _, last in begun),
        steps_per_second=sum(job.steps_per_second(now) for job, _ in begun),
    )
