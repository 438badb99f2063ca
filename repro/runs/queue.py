"""The queue: makes batches of the missing runs that can be trained now, and locks them.

The session that holds the lock of a run in the store trains it, so no two sessions train the same
run. A session skips runs that are locked by another one, and looks again later.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from repro.arm import Arm, Run
from repro.runs.identity import engine_of, name_of
from repro.runs.pool import Batch
from repro.runs.progress import RATE
from repro.runs.provenance import commit_of
from repro.runs.results import Results, TrainingFailed
from repro.store import Store
from repro.store.locks import most_locks

WIDEST = {"cpu": 16, "mps": 32, "cuda": 128}
"""The most runs of one stack, by the kind of device; halved if they do not fit into memory."""

LEAST_WIDTH = 8
"""Runs are not split further among trainers: a smaller stack is too slow per run."""

LARGEST_STEP = 2**28
"""With this number of multiplications per step, a CPU gains nothing by stacking further runs."""

UNKNOWN_WORK = 8 * RATE
"""The multiplications assumed for a run of an arm without `work`: eight seconds of a core."""


def work_of(run: Run) -> float:
    """Return the rough number of multiplications of a run."""
    return _work_of(run.arm)


def work_of_all(runs: Iterable[Run]) -> float:
    """Return the rough number of multiplications of runs; a shared training counts once."""
    return sum(map(work_of, dict.fromkeys(run.training for run in runs)))


@cache
def _work_of(arm: Arm) -> float:
    return arm.work or UNKNOWN_WORK


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

    >>> queue = Queue(store, results, engine="auto", device="cpu", project=folder)
    >>> for batch in queue.take(plan.missing, room=pool.room(), trainers=pool.trainers):
    ...     pool.submit(batch)
    """

    def __init__(
        self, store: Store, results: Results, *, engine: str, device: str, project: Path
    ) -> None:
        self._store, self._results = store, results
        self._engine, self._device, self._project = engine, device, project
        self._held: dict[int, ExitStack] = {}
        self._may_hold = most_locks()
        self._numbers = itertools.count(1)
        self.batches: dict[int, Batch] = {}
        """The batches in training, by their numbers."""
        self.elsewhere: dict[Run, None] = {}
        """The runs that another session was found to train, or to have stored."""

    @property
    def in_training_elsewhere(self) -> str:
        """A missing run that another session trains, in words; empty if there is none."""
        run = next(iter(self.elsewhere), None)
        if run is None:
            return ""
        return f"{name_of(run)}, held by {self._store.locks.holder(self._results.key(run))}"

    def take(
        self,
        missing: Sequence[Run],
        *,
        claims: Sequence[Sequence[Run]] = (),
        room: int,
        trainers: int,
    ) -> Iterator[Batch]:
        """Yield up to `room` batches; this session holds the locks of each until it is `over`.

        `claims` has the missing runs of each claim; those of the cheapest claim come first.
        """
        self.elsewhere = {}
        in_training = {run for batch in self.batches.values() for run in batch.runs}
        waiting = [run for run in self._startable(missing) if run not in in_training]
        for part in self._in_order(waiting, claims):
            while part and room > 0 and self._holds < self._may_hold:
                batch = self._batch(part, trainers)
                if batch is not None:
                    room -= 1
                    yield batch

    @property
    def _holds(self) -> int:
        """The number of runs whose locks it holds."""
        return sum(len(batch.runs) for batch in self.batches.values())

    def over(self, number: int) -> None:
        """Release the locks of a batch."""
        self._held.pop(number).close()
        del self.batches[number]

    def engine_of(self, arm: Arm) -> str:
        """Return the engine that trains an arm in this session."""
        return engine_of(arm, device=self._device) if self._engine == "auto" else self._engine

    def _batch(self, part: list[Run], trainers: int) -> Batch | None:
        """Take a batch from the front of a part; None if other sessions hold all its runs."""
        engine = self.engine_of(part[0].arm)
        width = self._width(part, trainers)
        runs: list[Run] = []
        with ExitStack() as held:
            while part and len(runs) < width:
                run = part.pop(0)
                if self._hold(run, held):
                    runs.append(run)
            if not runs:
                return None
            number = next(self._numbers)
            self._held[number] = held.pop_all()
        identities = {run: self._results.identity(run) for run in runs}
        self.batches[number] = Batch(number, identities, engine, commit_of(self._project))
        return self.batches[number]

    def _hold(self, run: Run, held: ExitStack) -> bool:
        """Take the lock of a run, unless it is stored or another session holds it."""
        if self._results.get(run) is None:
            lock = self._store.locks.try_lock(self._results.key(run))
            if lock is not None:
                held.enter_context(lock)
                if self._results.get(run) is None:  # else its last holder has just stored it
                    return True
        self.elsewhere[run] = None
        return False

    def _startable(self, runs: Sequence[Run]) -> list[Run]:
        """Return the runs that can start now; fail runs whose start has failed."""
        starts = {arm: arm.starts_from for arm in {run.arm for run in runs}}
        startable = []
        for run in runs:
            start = starts[run.arm]
            why = None if start is None else self._results.failed(start)
            if why is not None:
                self._results.failures[run] = TrainingFailed(
                    f"{name_of(run)}, cannot be trained without what it starts from: {why}"
                )
            elif start is None or self._results.get(start) is not None:
                startable.append(run)
        return startable

    def _in_order(self, runs: Sequence[Run], claims: Sequence[Sequence[Run]]) -> list[list[Run]]:
        """Return runs in parts that are trained together; parts of the cheapest claims come first.

        Before all come the runs that other runs start from.
        """
        parts: dict[str | Run, list[Run]] = {}
        for run in runs:
            parts.setdefault(self._part(run), []).append(run)
        wanted = (run for claim in sorted(claims, key=_cost) for run in claim)
        places = {name: n for n, name in enumerate(dict.fromkeys(map(self._part, wanted)))}
        started_from = {arm.starts_from for arm in {run.arm for claim in claims for run in claim}}

        def order(part: list[Run]) -> tuple[bool, int]:
            return started_from.isdisjoint(part), places.get(self._part(part[0]), len(places))

        for part in parts.values():
            trainings = dict.fromkeys(run.training for run in part)
            first = {training: place for place, training in enumerate(trainings)}
            part.sort(key=lambda run: (-run.arm.effort, first[run.training]))
        return sorted(parts.values(), key=order)

    def _part(self, run: Run) -> str | Run:
        """Return the part of a run: its program; with the `loop` engine, its training.

        Runs that differ only in their evaluation share a training and are measured apart.
        """
        return run.arm.program if self.engine_of(run.arm) == "stacked" else run.training

    def _width(self, part: Sequence[Run], trainers: int) -> int:
        """Return the number of runs for the next batch of a part."""
        arm = part[0].arm
        if self.engine_of(arm) == "loop":
            return len(part)
        batches = [b for b in self.batches.values() if b.arm.program == arm.program]
        at_once = len(part) + sum(len(batch.runs) for batch in batches)
        even = max(-(-at_once // trainers), LEAST_WIDTH)
        return min(widest(arm, self._device), even)


def _cost(claim: Sequence[Run]) -> float:
    return sum(map(work_of, claim))
