"""The queue: what of the missing runs can be trained now, in batches that this session holds.

A run is trained by the session that holds its lock in the store, so that no two of them train it. A
session that finds runs held takes others, and looks again.
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
from repro.runs.results import Results
from repro.store import Store
from repro.store.locks import most_locks

WIDEST = {"cpu": 16, "mps": 32, "cuda": 128}
"""Runs of one stack at most, by the kind of device; halved where memory does not hold them."""

LEAST_WIDTH = 8
"""Runs worth stacking, though smaller batches would share the work out more evenly."""

LARGEST_STEP = 2**28
"""Multiplications of a step from which a processor gains nothing by stacking further runs."""

UNKNOWN_WORK = 8 * RATE
"""The multiplications that a run counts as whose arm cannot say: eight seconds of a core."""


def work_of(run: Run) -> float:
    """Return the rough number of multiplications of a run."""
    return _work_of(run.arm)


def work_of_all(runs: Iterable[Run]) -> float:
    """Return the rough number of multiplications of runs, of those that share a training once."""
    return sum(map(work_of, dict.fromkeys(run.training for run in runs)))


@cache
def _work_of(arm: Arm) -> float:
    return arm.work or UNKNOWN_WORK


@cache
def _program(arm: Arm) -> str:
    return arm.program


def widest(arm: Arm, device: str) -> int:
    """Return how many runs of an arm are stacked at most on a kind of device.

    >>> widest(D256_L4.at("ci"), "cpu")
    16
    """
    if device != "cpu":
        return WIDEST[device]
    step = max(1.0, arm.recipe.batch * arm.effort)
    return max(1, min(WIDEST[device], int(LARGEST_STEP / step)))


class Queue:
    """The missing runs, in the order in which they settle claims soonest.

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
        """The batches that were taken and are not over, by their numbers."""
        self.elsewhere: dict[Run, None] = {}
        """The runs that another session trains, or has stored, as far as they were come upon."""

    @property
    def in_training_elsewhere(self) -> str:
        """Missing work that another session has in hand, in words; empty if there is none."""
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
        """Yield up to `room` batches, each held by this session until it is `over`.

        `claims` has the runs that each claim waits for: those of the cheapest one come first.
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
        """The number of runs that it holds."""
        return sum(len(batch.runs) for batch in self.batches.values())

    def over(self, number: int) -> None:
        """Let others have what is left of a batch."""
        self._held.pop(number).close()
        del self.batches[number]

    def _engine_of(self, arm: Arm) -> str:
        return engine_of(arm, device=self._device) if self._engine == "auto" else self._engine

    def _batch(self, part: list[Run], trainers: int) -> Batch | None:
        """Take a batch off the front of a part; None where others hold all that was taken off."""
        engine = self._engine_of(part[0].arm)
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
        """Take the lock of a run that nobody has stored or holds."""
        if self._results.get(run) is None:
            lock = self._store.locks.try_lock(self._results.key(run))
            if lock is not None:
                held.enter_context(lock)
                if self._results.get(run) is None:  # else its last holder has just stored it
                    return True
        self.elsewhere[run] = None
        return False

    def _startable(self, runs: Sequence[Run]) -> list[Run]:
        """Return the runs that wait for no other run to start from; fail those that never can."""
        starts = {arm: arm.starts_from for arm in {run.arm for run in runs}}
        startable = []
        for run in runs:
            start = starts[run.arm]
            why = None if start is None else self._results.failed(start)
            if why is not None:
                why = f"{name_of(run)}, cannot be trained without what it starts from: {why}"
                self._results.failures[run] = why
            elif start is None or self._results.get(start) is not None:
                startable.append(run)
        return startable

    def _in_order(self, runs: Sequence[Run], claims: Sequence[Sequence[Run]]) -> list[list[Run]]:
        """Return runs by what is trained together, the parts that the cheapest claims want first.

        Runs that others start from come before all.
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
        """Return what a run is trained with: all of its program, or in a loop its training alone.

        Runs that differ in their evaluation alone are trained once and measured apart.
        """
        return _program(run.arm) if self._engine_of(run.arm) == "stacked" else run.training

    def _width(self, part: Sequence[Run], trainers: int) -> int:
        """Return how many runs of a part to train as one."""
        arm = part[0].arm
        if self._engine_of(arm) == "loop":
            return len(part)
        program = _program(arm)
        batches = [b for b in self.batches.values() if _program(b.arm) == program]
        at_once = len(part) + sum(len(batch.runs) for batch in batches)
        even = max(-(-at_once // trainers), LEAST_WIDTH)
        return min(widest(arm, self._device), even)


def _cost(claim: Sequence[Run]) -> float:
    return sum(map(work_of, claim))
