"""The loop that trains what claims miss: from the plan to the queue, the backend and the store."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from repro.arm import Run
from repro.own.arm import OutsideArm
from repro.runs.backend import SECONDS_UNTIL_SAID, Backend, TrainingStopped
from repro.runs.engines import SLOWEST, Engines
from repro.runs.events import Advanced, Ended, Event, Failed, Narrowed, Timed, Trained
from repro.runs.forecast import TIMING, Forecast
from repro.runs.identity import name_of
from repro.runs.jobs import Batch, Job
from repro.runs.plan import Plan
from repro.runs.progress import Status
from repro.runs.provenance import commit_of
from repro.runs.queue import Queue
from repro.runs.remarks import remarks_on
from repro.runs.results import Results
from repro.runs.under_way import JobUnderWay, training_of
from repro.store import Store, StoreError
from repro.store.upkeep import tidy

SECONDS_BETWEEN_LOOKS = 1.0
"""Between two looks at what is missing, while there is something to start."""

Show = Callable[[Status], None]


class Work:
    """Trains what is missing, together with every process that shares the store.

    `results` is the view of the store that everybody else has. With `same_machine` it has no result
    that another machine than the backend's trained.

    >>> work = Work(store, backend, engine="auto", project=folder)
    >>> work.train(plan, show)
    >>> work.results.get(run).values
    """

    def __init__(
        self,
        store: Store,
        backend: Backend,
        *,
        engine: str,
        project: Path,
        same_machine: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self.store, self._backend, self._project = store, backend, project
        self._failures: dict[Run, str] = {}
        self.engines = Engines(store, wanted=engine, device=backend.device)
        self.results = Results(
            store,
            self.engines,
            failures=self._failures,
            machine=backend.machine if same_machine else None,
        )
        self.forecast = Forecast(self.engines, self.results, machine=backend.machine)
        self.trained = 0
        self._remarks: list[str] = []
        self._queue = Queue(store, self.engines, self.results, self.forecast, self._failures)
        self._jobs: dict[int, Job] = {}
        self._under_way: dict[int, JobUnderWay] = {}
        self._began = clock()
        self._missing: set[Run] = set()
        self._untimed: set[str] = set()
        self._done = 0.0
        self._idle_since: float | None = None

    @property
    def slots(self) -> int:
        """The number of jobs that train at a time."""
        return self._backend.slots

    @property
    def remarks(self) -> list[str]:
        """Sentences about the training that a reader of the results should know."""
        return [*self._backend.remarks, *self._remarks, *remarks_on(self.results.read().items())]

    def train(self, plan: Plan, show: Show) -> None:
        """Train until the plan misses nothing; raises `TrainingStopped` where that cannot be."""
        try:
            tidy(self.store)
            self._began = self._clock()
            while missing := plan.missing():
                claims, slots = plan.missing_by_claim(), self._backend.slots
                self._queue.fill(missing, claims=claims, slots=slots)
                self._until_next_look(self._status(plan, missing), show)
        except StoreError as error:
            raise TrainingStopped(str(error)) from error
        finally:
            for event in self._backend.stop():
                self._take(event)
            for job in self._jobs.values():
                self._queue.over(job)

    def plan_lines(self, missing: Sequence[Run]) -> Sequence[str]:
        """Return what the backend would do about runs that are missing, in words."""
        timings, batches = self._queue.jobs_for(missing, slots=self._backend.slots)
        return self._backend.plan_lines(timings=timings, batches=batches) if missing else ()

    def give_up(self, why: str) -> None:
        """Let every run that is missing from now on fail with this sentence."""
        self.results.missing_because = why

    def _until_next_look(self, status: Status, show: Show) -> None:
        looked = self._clock()
        is_due = has_news = False
        while not is_due:
            for job in self._queue.take(self._backend.room(), among=self._backend.slots):
                seconds = self.forecast.seconds(job.runs) if isinstance(job, Batch) else TIMING
                if has_news and seconds > SECONDS_BETWEEN_LOOKS:
                    self._queue.over(job)  # no claim that is settled by now shall wait for its end
                    return
                self._start(job, seconds, lambda event: self._tell(event, status, show))
            show(self._now(status))
            jobs = len(self._jobs)
            for event in self._backend.events():
                self._take(event)
                show(self._now(status))
            has_ended = len(self._jobs) < jobs
            has_news |= has_ended
            is_due = self._clock() - looked > SECONDS_BETWEEN_LOOKS
            is_due |= self._queue.is_empty and (has_ended or not self._jobs)

    def _start(self, job: Job, seconds: float, tell: Callable[[Advanced], None]) -> None:
        self._jobs[job.number] = job
        self._under_way[job.number] = JobUnderWay(
            job.arm.label,
            began=self._clock(),
            expected=seconds,
            share=self.forecast.share(job.arm),
        )
        if isinstance(job, Batch) and job.speed.not_stacked:
            self._remarks.append(_one_at_a_time(job))
        self._backend.start(job, tell)

    def _tell(self, event: Advanced, status: Status, show: Show) -> None:
        self._take(event)
        show(self._now(status))

    def _take(self, event: Event) -> None:
        match event:
            case Trained(run, values, provenance, weights):
                how = {**provenance, **commit_of(self._project)}
                try:
                    self.store.put(self.results.identity(run), values, how, weights=weights)
                except (TypeError, ValueError) as error:  # a value that no file can hold
                    self._failures[run] = f"{name_of(run)}, has no result to store: {error}"
                else:
                    self.trained += 1
            case Failed(run, why, details):
                self._failures[run] = why
                if details:
                    self.results.details[run] = details
            case Narrowed(program, width):
                self._queue.narrow(program, width)
            case Timed(number, speed):
                self.engines.settle(self._jobs[number].arm, speed)
            case Advanced(number, progress):
                self._under_way[number].add(progress, now=self._clock())
            case Ended(number):
                job, under_way = self._jobs.pop(number), self._under_way.pop(number)
                if isinstance(job, Batch) and self._failures.keys().isdisjoint(job.runs):
                    took = self._clock() - under_way.began
                    self.forecast.took(job.runs, took)
                    self._keep_time(job)
                self._queue.over(job)

    def _keep_time(self, job: Batch) -> None:
        """Keep how long a black box trained, which nobody can time before; waiting is not counted.

        Later sessions know it by its settings, also when its code has changed.
        """
        results = [self.results.get(run) for run in job.runs]
        seconds = sum(each.provenance.get("seconds", 0.0) for each in results if each)
        a_step = seconds / len(job.runs) / max(1, job.arm.steps)
        if isinstance(job.arm, OutsideArm) and 0 < a_step < SLOWEST:
            self.engines.settle(job.arm, replace(job.speed, seconds=a_step))

    def _status(self, plan: Plan, missing: Sequence[Run]) -> Status:
        arrived = [self.results.get(run) for run in self._missing.difference(missing)]
        self._done += sum(each.provenance.get("seconds", 0.0) for each in arrived if each)
        self._missing = set(missing)
        untimed = {run.arm.program for run in missing if not self.forecast.is_timed(run)}
        self._done += TIMING * len(self._untimed - untimed)
        self._untimed = untimed
        likely = plan.likely()
        return Status(
            claims=plan.claims,
            decided=plan.decided,
            asked=len(plan.asked),
            missing=len(missing),
            likely=sum(likely.values()),
            looked_at=self._clock(),
            seconds_left=self.forecast.of_all(missing) + self.forecast.of_likely(likely),
            began=self._began,
            done=self._done,
            slots=self._backend.slots,
        )

    def _now(self, status: Status) -> Status:
        now, jobs = self._clock(), list(self._under_way.values())
        return replace(
            status,
            seen_at=now,
            under_way=sum(job.expected * job.done(now) for job in jobs),
            before=sum(job.expected * job.before for job in jobs),
            a_second=sum(job.expected * job.pace for job in jobs if job.done(now) < 1),
            longest=max((job.left(now) for job in jobs), default=0.0),
            training=training_of(jobs, now=now),
            waits_for=self._waits_for(),
        )

    def _waits_for(self) -> str:
        """The thing that this process has waited for long, in words; empty where it has not."""
        held = self._queue.held_elsewhere
        if self._jobs or not held:
            self._idle_since = None
            return self._backend.waits_for
        if self._idle_since is None:
            self._idle_since = time.monotonic()
        is_long = time.monotonic() - self._idle_since > SECONDS_UNTIL_SAID
        return held if is_long else self._backend.waits_for


def _one_at_a_time(batch: Batch) -> str:
    """Say that a program's stacked form did not get through."""
    why = textwrap.shorten(batch.speed.not_stacked.partition(". ")[0], 160, placeholder=" …")
    return f"{batch.arm.label} was trained one run at a time; its module is not stacked: {why}"
