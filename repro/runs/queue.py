"""The queue of work: what of the missing runs can start now, in batches that this process holds.

A run is trained by whoever holds its lock in the store, so that no two processes train it, on
whatever machines they have it trained. A process that finds runs held takes others.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from repro.arm import Arm, Run
from repro.runs.engines import Engines
from repro.runs.forecast import Forecast
from repro.runs.identity import name_of
from repro.runs.jobs import Batch, Job, Start, Timing
from repro.runs.order import Program, in_order
from repro.runs.results import Results
from repro.store import Store
from repro.store.locks import Lock

EARLY_TIMINGS = 2
"""Programs that are timed behind each batch, before their turn."""

LEAST_WIDTH = 8
"""Runs worth stacking, though a smaller batch would share the work out more evenly.

A program that is fastest with fewer of them gains little by its stack: it is shared out evenly.
"""


class Queue:
    """Missing runs by program, for one of the processes that train them.

    >>> queue.fill(plan.missing(), claims=plan.missing_by_claim(), slots=backend.slots)
    >>> for job in queue.take(backend.room(), among=backend.slots):
    ...     backend.start(job)
    """

    def __init__(
        self,
        store: Store,
        engines: Engines,
        results: Results,
        forecast: Forecast,
        failures: dict[Run, str],
    ) -> None:
        self._store, self._engines, self._results = store, engines, results
        self._forecast, self._failures = forecast, failures
        self._programs: list[deque[Run]] = []
        self._numbers = itertools.count(1)
        self._started: set[Run] = set()
        self._early_timings = 0
        self._widest: dict[str, int] = {}
        self._refused: tuple[str, str] | None = None  # of a lock: what it is of, and its name

    def fill(
        self, missing: Sequence[Run], *, claims: Sequence[Sequence[Run]] = (), slots: int = 1
    ) -> None:
        """Take in the runs that are missing now, in place of those that were.

        `claims` has the runs of each claim that is open; so many slots train side by side.
        """
        self._refused = None
        startable = self._startable(missing)
        waiting = [run for run in missing if run not in self._started]
        ordered = self._in_order(waiting, claims, slots)
        programs = ([run for run in runs if run in startable] for runs in ordered)
        self._programs = [deque(runs) for runs in programs if runs]

    @property
    def held_elsewhere(self) -> str:
        """Missing work that another process has in hand, in words; empty if there is none."""
        if self._refused is None:
            return ""
        what, name = self._refused
        return f"{what}, held by {self._store.locks.holder(name)}"

    @property
    def is_empty(self) -> bool:
        """True where nothing is left to take."""
        return not any(self._programs)

    def take(self, room: int, *, among: int) -> Iterator[Job]:
        """Yield up to `room` jobs, each held by this process until its `held` is closed.

        A batch is as wide as its program needs to be trained by `among` processes at a time. Behind
        each batch a few programs are timed that come later, for the time left to be known early.
        """
        while room > 0 and (job := self._early_timing() or self._next(among)) is not None:
            room -= 1
            self._refused = None
            yield job

    def jobs_for(self, missing: Sequence[Run], *, slots: int) -> tuple[int, int]:
        """Return how many programs of these runs are to be timed, and how many batches they make.

        Of a program that nobody has timed, it is the number for a stack that pays.
        """
        parts: dict[str | Run, list[Run]] = {}
        for run in missing:
            parts.setdefault(self._part(run), []).append(run)
        programs = [self._program(name, part, slots) for name, part in parts.items()]
        timings = {r.arm.program for r in missing if self._engines.of(r.arm) is None}
        return len(timings), sum(program.jobs for program in programs)

    def over(self, job: Job) -> None:
        """Let others have what is left of a job."""
        if isinstance(job, Batch):
            self._started.difference_update(job.runs)
        job.held.close()

    def narrow(self, program: str, width: int) -> None:
        """Stack no more runs of a program from now on."""
        self._widest[program] = width

    def _next(self, among: int) -> Job | None:
        """Return the next job in order; None where others hold all there is."""
        for program in self._programs:
            if program and (job := self._job(program, among)) is not None:
                if isinstance(job, Batch):
                    self._early_timings = EARLY_TIMINGS
                return job
        return None

    def _early_timing(self) -> Timing | None:
        """Return the timing of a program whose turn has not come, if one is due."""
        if self._early_timings == 0:
            return None
        self._early_timings -= 1
        for program in self._programs:
            is_untimed = program and not self._forecast.is_timed(program[0])
            if is_untimed and (timing := self._timing(program)) is not None:
                return timing
        return None

    def _job(self, program: deque[Run], among: int) -> Job | None:
        """Return the next job of a program; None where others hold all there is."""
        if self._engines.of(program[0].arm) is None:
            return self._timing(program)
        while program:
            batch = self._batch(program, among)
            if batch is not None:
                return batch
        return None

    def _timing(self, program: deque[Run]) -> Timing | None:
        arm = program[0].arm
        lock = self._lock(f"the timing of {arm.label}", f"engine-{self._engines.name_of(arm)}")
        if lock is None:
            return None
        with ExitStack() as stack:
            stack.enter_context(lock)
            if self._engines.of(arm) is not None:  # settled between the two looks
                return None
            arms = tuple(dict.fromkeys(run.arm for run in program))
            held = stack.pop_all()
        return Timing(next(self._numbers), arms, self._engines.wanted, self._start(arm), held)

    def _batch(self, program: deque[Run], among: int) -> Batch | None:
        """Take a batch off the front of a program; what others hold is taken off and left out."""
        arm = program[0].arm
        speed = self._engines.of(arm)
        assert speed is not None
        width = self._width(arm, len(program), speed.width, among)
        runs: list[Run] = []
        rows: set[Run] = set()
        with ExitStack() as stack:
            while program:
                row = self._engines.row(program[0])
                if len(rows | {row}) > width:
                    break
                run = program.popleft()
                if self._hold(run, stack):
                    runs.append(run)
                    rows.add(row)
            if not runs:
                return None
            self._started.update(runs)
            keys = [self._results.key(run) for run in runs]
            return Batch(next(self._numbers), runs, keys, speed, self._start(arm), stack.pop_all())

    def _hold(self, run: Run, stack: ExitStack) -> bool:
        """Take the lock of a run that nobody has stored or holds."""
        if self._results.get(run) is not None:
            return False
        lock = self._lock(name_of(run), self._results.key(run))
        if lock is None:
            return False
        if self._results.get(run) is not None:  # stored by its last holder, between the two looks
            lock.release()
            return False
        stack.enter_context(lock)
        return True

    def _lock(self, what: str, name: str) -> Lock | None:
        lock = self._store.locks.try_lock(name)
        if lock is None:
            self._refused = what, name
        return lock

    def _start(self, arm: Arm) -> Start | None:
        run = arm.starts_from
        return None if run is None else Start(run, self._results.key(run))

    def _startable(self, runs: Sequence[Run]) -> set[Run]:
        """Return the runs that wait for no other run to start from; fail those that never can.

        All runs of a program start from the same.
        """
        by_start: dict[Run | None, list[Run]] = {}
        starts = {arm: arm.starts_from for arm in {run.arm for run in runs}}
        for run in runs:
            by_start.setdefault(starts[run.arm], []).append(run)
        startable: set[Run] = set()
        for start, theirs in by_start.items():
            why = None if start is None else self._results.failed(start)
            if why is not None:
                why = f"cannot be trained without what it starts from: {why}"
                self._failures.update((run, f"{name_of(run)}, {why}") for run in theirs)
            elif start is None or self._results.get(start) is not None:
                startable.update(theirs)
        return startable

    def _in_order(
        self, runs: Sequence[Run], claims: Sequence[Sequence[Run]], slots: int
    ) -> list[list[Run]]:
        """Return runs by what is trained one after another, each sorted as its stack wants them."""
        parts: dict[str | Run, list[Run]] = {}
        for run in runs:
            parts.setdefault(self._part(run), []).append(run)
        for part in parts.values():
            trainings = dict.fromkeys(run.training for run in part)
            places = {training: place for place, training in enumerate(trainings)}
            part.sort(key=lambda run: (-run.arm.effort, places[run.training]))
        programs = [self._program(name, part, slots) for name, part in parts.items()]
        waited_for = [dict.fromkeys(map(self._part, claim)) for claim in claims]
        ordered = in_order(programs, [list(names) for names in waited_for], slots=slots)
        return [parts[program.name] for program in ordered]

    def _part(self, run: Run) -> str | Run:
        """Return what a run is trained with: all of its program, unless that trains one by one."""
        speed = self._engines.of(run.arm)
        return run.training if speed is not None and speed.width == 1 else run.arm.program

    def _program(self, name: str | Run, runs: Sequence[Run], slots: int) -> Program[str | Run]:
        speed, start = self._engines.of(runs[0].arm), runs[0].arm.starts_from
        width = speed.width if speed is not None else LEAST_WIDTH
        return Program(
            name,
            self._forecast.seconds(runs),
            jobs=-(-len(runs) // self._width(runs[0].arm, len(runs), width, slots)),
            starts_from=None if start is None else self._part(start),
        )

    def _width(self, arm: Arm, runs: int, pays: int, among: int) -> int:
        """Return how many of so many runs to train as one, where a stack of `pays` is fastest."""
        even = -(-runs // among)
        width = min(pays, even if pays < LEAST_WIDTH else max(even, LEAST_WIDTH))
        return min(width, self._widest.get(arm.program, width))
