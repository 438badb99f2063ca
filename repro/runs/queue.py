"""The queue: makes batches of the missing runs that can be trained now, and locks them.

The session that holds the lock of a run in the store trains it, so no two sessions train the same
run. A session skips runs that are locked by another one, and looks again later.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict, deque
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from functools import cache
from heapq import heappop, heappush
from pathlib import Path

from repro.arm import Arm, Run
from repro.runs.identity import engine_of, name_of
from repro.runs.pool import Batch
from repro.runs.provenance import commit_of
from repro.runs.results import Results, TrainingFailed
from repro.runs.time_left import Pace, is_timed, work_of, work_of_all
from repro.store import Store
from repro.store.locks import most_locks

WIDEST = {"cpu": 16, "mps": 32, "cuda": 128}
"""The most runs of one stack, by the kind of device; halved if they do not fit into memory."""

LEAST_WIDTH = 8
"""Runs are not split further among trainers: a smaller stack is too slow per run."""

SECONDS_BETWEEN_LOOKS = 1.0
"""Seconds between two looks at the runs that other sessions train."""

LARGEST_STEP = 2**28
"""With this number of multiplications per step, a CPU gains nothing by stacking further runs."""


@cache
def _start_of(arm: Arm) -> Run | None:
    return arm.starts_from


def widest(arm: Arm, device: str) -> int:
    """Return the largest number of runs of an arm in one stack, on a kind of device.

    >>> widest(D256_L4.at("ci"), "cpu")
    16
    """
    if device != "cpu":
        return WIDEST[device]
    step = max(1.0, arm.recipe.batch * arm.effort)
    return max(1, min(WIDEST[device], int(LARGEST_STEP / step)))


class Queue:
    """Makes batches of missing runs, in the order that settles claims soonest.

    Its work grows with the runs that are added and that end, never with all that are missing.

    >>> queue = Queue(store, results, engine="auto", device="cpu", project=folder)
    >>> queue.add(runs_that_a_claim_misses)
    >>> for batch in queue.take(room=pool.room(), trainers=pool.trainers):
    ...     pool.submit(batch)
    """

    def __init__(
        self, store: Store, results: Results, *, engine: str, device: str, project: Path
    ) -> None:
        self._store, self._results = store, results
        self._engine, self._device, self._project = engine, device, project
        self._held: dict[int, ExitStack] = {}
        self._may_hold = most_locks()
        self._numbers, self._order = itertools.count(1), itertools.count()
        self._claims: list[tuple[float, int, deque[Run]]] = []
        """A heap of the missing runs of each claim, by their cost."""
        self._parts: dict[str | Run, list[tuple[float, int, Run]]] = {}
        """The runs that wait, in parts that are trained together: heaps, by their effort."""
        self._waiting: dict[Run, str | Run] = {}
        """The part of each run that waits."""
        self._behind: dict[Run, dict[Run, None]] = {}
        """The runs that cannot start yet, by the run that they start from."""
        self.untimed: set[tuple[str, str]] = set()
        """The kinds of runs whose time nobody knows until some of them are trained."""
        self._work: defaultdict[tuple[str, str], float] = defaultdict(float)
        """The multiplications of the runs that wait, by kind."""
        self._looked = -math.inf
        self.paces: dict[tuple[str, str], Pace] = {}
        """The speed of one trainer, by kind."""
        self.batches: dict[int, Batch] = {}
        """The batches in training, by their numbers."""
        self.in_training: set[Run] = set()
        """The runs of these batches."""
        self.elsewhere: dict[Run, None] = {}
        """The runs that another session was found to train."""
        self.found: list[Run] = []
        """The runs that another session has stored, or that failed with what they start from."""

    def add(self, runs: Collection[Run], *, first: bool = False) -> None:
        """Add the missing runs of a claim; those of the cheapest claim are trained first.

        Before all come the runs that others start from, and then the claims that are `first`.
        """
        self._add(runs, cost=0.0 if first else sum(map(work_of, runs)))
        if first:
            self._put_first(runs)
        starts = dict.fromkeys([*(_start_of(run.arm) for run in runs), *runs])
        urgent = [run for run in starts if run in self._behind and run in self._waiting]
        heappush(self._claims, (-1.0, next(self._order), deque(urgent)))

    def ended(self, run: Run) -> None:
        """Add the runs that start from this one, which is stored or has failed."""
        self.add(self._behind.pop(run, {}))

    def over(self, number: int) -> None:
        """Release the locks of a batch."""
        self._held.pop(number).close()
        self.in_training.difference_update(self.batches.pop(number).runs)

    def look_again(self) -> None:
        """Find the runs that other sessions have stored, and let the others be tried again."""
        if self.elsewhere and time.monotonic() - self._looked >= SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            runs, self.elsewhere = list(self.elsewhere), {}
            over = set(filter(self._results.is_done, runs))
            self.found += over
            self._add([run for run in runs if run not in over], cost=math.inf)

    def take(self, *, room: int, trainers: int) -> Iterator[Batch]:
        """Yield up to `room` batches; this session holds the locks of each until it is `over`."""
        while room > 0 and (part := self._next()) is not None:
            width = self._width(part, trainers)
            while room > 0 and part in self._parts:
                if len(self.in_training) >= self._may_hold:
                    return
                batch = self._batch(part, width)
                if batch is not None:
                    room -= 1
                    yield batch

    @property
    def in_training_elsewhere(self) -> str:
        """A missing run that another session trains, in words; empty if there is none."""
        run = next(iter(self.elsewhere), None)
        if run is None:
            return ""
        return f"{name_of(run)}, held by {self._store.locks.holder(self._results.key(run))}"

    @property
    def work(self) -> dict[tuple[str, str], float]:
        """The multiplications of the missing runs that are in no batch, by kind."""
        work = self._work.copy()
        for run in itertools.chain(self.elsewhere, *self._behind.values()):
            work[self.kind_of(run.arm)] += work_of(run)
        return work

    def engine_of(self, arm: Arm) -> str:
        """Return the engine that trains an arm in this session."""
        return engine_of(arm, device=self._device) if self._engine == "auto" else self._engine

    def kind_of(self, arm: Arm) -> tuple[str, str]:
        """Return the study and the engine of an arm, whose runs have one pace."""
        return arm.study, self.engine_of(arm)

    def _add(self, runs: Collection[Run], *, cost: float) -> None:
        for run in runs:
            is_known = run in self._waiting or run in self.in_training or run in self.elsewhere
            if not is_known and self._can_start(run):
                # one program, or with the `loop` engine one training: runs that differ only in
                # their evaluation share it, and are measured apart
                is_stacked = self.engine_of(run.arm) == "stacked"
                part = run.arm.program if is_stacked else run.training
                place = -run.arm.effort, next(self._order), run
                heappush(self._parts.setdefault(part, []), place)
                self._waiting[run] = part
                kind = self.kind_of(run.arm)
                self._work[kind] += work_of(run)
                if not is_timed(run.arm):
                    self.untimed.add(kind)
        heappush(self._claims, (cost, next(self._order), deque(runs)))

    def _put_first(self, runs: Collection[Run]) -> None:
        """Put runs that wait before the others of their parts, where they stand a second time."""
        for run in runs:
            if run in self._waiting:
                place = -math.inf, next(self._order), run
                heappush(self._parts[self._waiting[run]], place)

    def _can_start(self, run: Run) -> bool:
        """Return whether a run can start now; fail it if its start has failed."""
        start = _start_of(run.arm)
        if start is None:
            return True
        why = self._results.failed(start)
        if why is not None:
            self._results.failures[run] = TrainingFailed(
                f"{name_of(run)}, cannot be trained without what it starts from: {why}"
            )
            self.found.append(run)
        elif self._results.get(start) is not None:
            return True
        else:
            self._behind.setdefault(start, {})[run] = None
        return False

    def _next(self) -> str | Run | None:
        """Return the part of the cheapest claim's first waiting run; None if no run waits."""
        while self._claims:
            runs = self._claims[0][-1]
            while runs and runs[0] not in self._waiting:
                runs.popleft()
            if runs:
                return self._waiting[runs[0]]
            heappop(self._claims)
        return None

    def _width(self, part: str | Run, trainers: int) -> int:
        """Return how many runs of a part make a batch.

        It is split only while fewer parts wait than trainers are idle.
        """
        waiting = self._parts[part]
        arm = waiting[0][-1].arm
        if self.engine_of(arm) == "loop":
            return len(waiting)
        idle = trainers - len(self.batches)
        even = -(-len(waiting) // max(1, idle // len(self._parts)))
        return min(widest(arm, self._device), max(even, LEAST_WIDTH))

    def _batch(self, part: str | Run, width: int) -> Batch | None:
        """Take a batch from the front of a part; None if other sessions hold all its runs."""
        waiting, runs = self._parts[part], list[Run]()
        kind = self.kind_of(waiting[0][-1].arm)
        with ExitStack() as held:
            while waiting and len(runs) < width:
                _, _, run = heappop(waiting)
                if self._waiting.pop(run, None) is None:  # it stood there a second time
                    continue
                self._work[kind] -= work_of(run)
                if self._hold(run, held):
                    runs.append(run)
            if not self._waiting:
                self._work.clear()  # of what rounding has left
            if not waiting:
                del self._parts[part]
            if not runs:
                return None
            number = next(self._numbers)
            self._held[number] = held.pop_all()
        runs.sort(key=lambda run: -run.arm.effort)  # a stack is faster in this order
        self.in_training.update(runs)
        start = runs[0].arm.starts_from
        found = self._results.get(start) if start is not None else None
        is_known = kind in self.paces or kind not in self.untimed
        seconds = self.paces.get(kind, Pace()).seconds(work_of_all(runs))
        self.batches[number] = Batch(
            number,
            {run: self._results.identity(run) for run in runs},
            kind[1],
            commit_of(self._project),
            seconds if is_known else math.inf,
            found.content if found is not None else "",
        )
        return self.batches[number]

    def _hold(self, run: Run, held: ExitStack) -> bool:
        """Take the lock of a run, unless another session holds it or has stored the run."""
        lock = self._store.locks.try_lock(self._results.key(run))
        if lock is None:
            self.elsewhere[run] = None
        elif self._results.get(run) is None:
            held.enter_context(lock)
            return True
        else:
            lock.release()
            self.found.append(run)
        return False
