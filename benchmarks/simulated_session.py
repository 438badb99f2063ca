"""A session that trains nothing: its runs have the results of a full store, and take their time.

Everything else is a session's: the plan, the order, the queue and the forecast, over a store that
starts empty. The clock goes from one event to the next.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.arm import Run
from repro.core.speed import Speed
from repro.plugin.session import ClaimSession
from repro.runs.engines import Engines
from repro.runs.events import Advanced, Ended, Event, Timed, Trained
from repro.runs.jobs import Batch, Job, Timing
from repro.runs.progress import Status, seconds_left
from repro.runs.work import Work
from repro.store import Result, Store

TICK = 30.0
"""Seconds between two looks at the clock."""

START = 0.3
"""Seconds that a job takes beside its steps."""

TIMED_STEPS = 8
WIDTHS = {"loop": 5, "stacked": 29}
"""Rows that are timed until the loop has won, and until a stack has."""


@dataclass(frozen=True)
class Said:
    """The time left that was said at a moment, and the true one."""

    moment: float
    said: float
    true: float

    @property
    def error(self) -> float:
        return (self.said - self.true) / self.true


class SimulatedBackend:
    """So many slots whose jobs end when their time is over."""

    device, machine, remarks, waits_for = "cpu", "simulated", (), ""

    def __init__(
        self, results: Mapping[Run, Result], engines: Engines, *, slots: int, load: float
    ) -> None:
        self.slots, self.now = slots, 0.0
        self._results, self._engines = results, engines
        self._seconds = even_seconds(results)
        self._load, self._until = load, load * sum(self._seconds.values()) / slots / 2
        self._jobs: dict[int, tuple[float, float, Job]] = {}  # by number: start, end

    def room(self) -> int:
        return self.slots - len(self._jobs)

    def start(self, job: Job, tell: Callable[[Advanced], None]) -> None:
        if isinstance(job, Timing):
            speed = self._speed(job)
            seconds = START + TIMED_STEPS * WIDTHS[speed.engine] * speed.seconds
        else:
            seconds = START + sum(self._seconds[run] for run in job.runs)
        self._jobs[job.number] = self.now, self._end(seconds), job

    def events(self) -> Iterator[Event]:
        ends = [end for _, end, _ in self._jobs.values()]
        self.now = min([*ends, self.now + TICK])
        for number, (start, end, job) in list(self._jobs.items()):
            if end > self.now:
                continue
            del self._jobs[number]
            if isinstance(job, Timing):
                yield Timed(number, self._speed(job))
            else:
                yield from self._trained(job, end - start)
            yield Ended(number)

    def stop(self) -> Sequence[Event]:
        return ()

    def _trained(self, job: Batch, seconds: float) -> Iterator[Event]:
        made = {"machine": self.machine, "trained_with": len(job.runs) - 1}
        for run in job.runs:
            result = self._results[run]
            took = {"seconds": seconds / len(job.runs)}
            yield Trained(run, result.values, {**result.provenance, **made, **took}, result.weights)

    def _speed(self, job: Timing) -> Speed:
        speed = self._engines.of(job.arm)
        if speed is not None:
            return speed
        seconds = next(took for run, took in self._seconds.items() if run.arm == job.arm)
        return Speed("loop", 1, seconds / max(1, job.arm.steps))

    def _end(self, seconds: float) -> float:
        """Return when a job ends that takes so long where nobody else wants the cores."""
        under_load = max(0.0, self._until - self.now) / self._load
        if seconds <= under_load:
            return self.now + seconds * self._load
        return max(self.now, self._until) + seconds - under_load


def even_seconds(results: Mapping[Run, Result]) -> dict[Run, float]:
    """Return what each run takes by its steps and the median of its program's seconds a step.

    What is in a store was trained by several sessions, under whatever load each of them had.
    """
    steps = {run: max(1, result.values.get("steps", 0)) for run, result in results.items()}
    a_step: dict[str, list[float]] = {}
    for run, result in results.items():
        a_step.setdefault(run.arm.program, []).append(result.provenance["seconds"] / steps[run])
    return {run: steps[run] * statistics.median(a_step[run.arm.program]) for run in results}


def simulated(
    claims: ClaimSession, results: Mapping[Run, Result], folder: Path, *, slots: int, load: float
) -> list[Said]:
    """Let the session work in an empty folder; return what it said of the time left, and when."""
    assert claims.work is not None
    backend = SimulatedBackend(results, claims.work.engines, slots=slots, load=load)
    work = Work(
        Store(folder), backend, engine="auto", project=Path.cwd(), clock=lambda: backend.now
    )
    claims.work, claims.results, claims.asked = work, work.results, set()
    claims.known = type(claims.known)(work.results)
    plan = claims.plan()
    plan._settled = lambda place: None  # nothing is announced
    told: dict[float, float] = {}

    def show(status: Status) -> None:
        told[backend.now] = seconds_left([status], now=backend.now)

    work.train(plan, show)
    whole = backend.now
    return [Said(now / whole, said, whole - now) for now, said in told.items() if now < whole]
