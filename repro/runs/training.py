"""Trains what a plan misses: from the queue through the pool into the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro.arm import Run, Values
from repro.runs.identity import name_of
from repro.runs.plan import Plan
from repro.runs.pool import (
    SECONDS_UNTIL_SAID,
    Advanced,
    Batch,
    Ended,
    Event,
    Failed,
    Narrowed,
    Pool,
    Stored,
    Trained,
    TrainingStopped,
)
from repro.runs.progress import Status
from repro.runs.provenance import commit_of
from repro.runs.queue import Queue, work_of
from repro.runs.results import Results
from repro.store import Store, StoreError
from repro.store.upkeep import tidy

SECONDS_BETWEEN_LOOKS = 1.0
"""Between two looks at the store for what other sessions have trained."""

SECONDS_BETWEEN_STATUSES = 0.5


class Training:
    """The training of one session, beside any other that shares its store.

    >>> training = Training(store, pool, results, engine="auto", project=folder)
    >>> while plan.take_ready() is None:
    ...     training.advance(plan, seconds=1.0)
    """

    def __init__(
        self, store: Store, pool: Pool, results: Results, *, engine: str, project: Path
    ) -> None:
        self.store, self.pool, self.results = store, pool, results
        self.trained = 0
        """The number of runs that this session has trained."""
        self.show: Callable[[Status], None] = lambda status: None
        self._project = project
        self._queue = Queue(store, results, engine=engine, device=pool.device)
        self._under_way: dict[int, Batch] = {}
        self._shares: dict[int, tuple[str, float]] = {}
        """How far each batch under way is: in words, and the share that is done."""
        self._began: float | None = None
        self._looked = self._showed = self._busy = 0.0
        self._done = 0.0
        self._plan: Plan[Any] | None = None
        self._is_stale = True
        """True where claims want other runs than the queue has."""

    def advance(self, plan: Plan[Any], *, seconds: float) -> None:
        """Hand over what the plan misses, and take what has come, or comes within some seconds.

        Raises `TrainingStopped` where nothing more can be trained.
        """
        self._is_stale |= plan is not self._plan
        self._plan = plan
        try:
            self._begin()
            self._look(plan)
            self._hand_over(plan)
            self._show(plan)
            for event in self.pool.events(seconds):
                self._take(event)
                if isinstance(event, Trained | Stored | Failed):
                    self._is_stale |= plan.look([event.run])
                self._hand_over(plan)
                self._show(plan)
        except StoreError as error:
            raise TrainingStopped(str(error)) from error

    def stop(self) -> None:
        """End all training after one checkpoint more; what has come by then is stored."""
        for event in self.pool.stop():
            self._take(event)
        for number in list(self._under_way):
            self._over(number)

    def plan_lines(self, plan: Plan[Any]) -> list[str]:
        """Return what the pool would do about the runs that a plan misses, in words."""
        if not plan.missing:
            return []
        batches = self._queue.number_of_batches(plan.missing, trainers=self.pool.trainers)
        return list(self.pool.plan_lines(batches))

    def status(self, plan: Plan[Any]) -> Status:
        """Return how far the plan is."""
        missing = dict.fromkeys(plan.missing)
        under_way = sum(
            share * work_of(run)
            for number, (_, share) in self._shares.items()
            for run in self._under_way[number].runs
            if run in missing
        )
        now = time.monotonic()
        return Status(
            claims=plan.claims,
            open=plan.open,
            asked=0,
            missing=len(missing),
            seconds=0.0 if self._began is None else now - self._began,
            done=self._done + under_way,
            left=max(0.0, sum(map(work_of, missing)) - under_way),
            trainers=self.pool.trainers,
            under_way=" | ".join(words for words, _ in self._shares.values()),
            waits_for=self._waits_for(now),
        )

    def _begin(self) -> None:
        if self._began is None:
            tidy(self.store)
            self._began = self._busy = time.monotonic()

    def _look(self, plan: Plan[Any]) -> None:
        """Look now and then for what other sessions have trained, or do not train any more."""
        now = time.monotonic()
        if now - self._looked > SECONDS_BETWEEN_LOOKS:
            self._looked = now
            others = list(self._queue.elsewhere)
            self._is_stale |= plan.look(others) or bool(others)

    def _hand_over(self, plan: Plan[Any]) -> None:
        """Submit batches while there is room."""
        room = self.pool.room()
        if room <= 0:
            return
        if self._is_stale:
            self._queue.fill(plan.missing, claims=plan.missing_by_claim)
            failed = [run for run in plan.missing if run in self.results.failures]
            plan.look(failed)  # they start from a failure
            self._is_stale = bool(failed)
        for batch in self._queue.take(room, trainers=self.pool.trainers):
            self._under_way[batch.number] = batch
            self.pool.submit(batch)

    def _take(self, event: Event) -> None:
        match event:
            case Trained(run, values, provenance, weights):
                self._put(run, values, {**provenance, **commit_of(self._project)}, weights)
            case Stored(run):
                self._count(run)
            case Failed(run, why, details):
                self.results.failures[run] = why
                if details:
                    self.results.details[run] = details
            case Narrowed(program, width):
                self._queue.narrow(program, width)
            case Advanced(number, progress):
                share = min(1.0, progress.step / progress.total) if progress.total else 0.0
                label = self._under_way[number].arm.label
                words = f"{label} x{progress.runs} {progress.step}/{progress.total}"
                self._shares[number] = words, share
            case Ended(number):
                self._over(number)

    def _put(
        self, run: Run, values: Values, provenance: dict[str, Any], weights: bytes | None
    ) -> None:
        try:
            self.store.put(self.results.identity(run), values, provenance, weights=weights)
        except (TypeError, ValueError) as error:  # a value that no file can hold
            self.results.failures[run] = f"{name_of(run)}, has no result to store: {error}"
        else:
            self._count(run)

    def _count(self, run: Run) -> None:
        self.trained += 1
        self._done += work_of(run)

    def _over(self, number: int) -> None:
        self._queue.over(number)
        batch = self._under_way.pop(number)
        self._shares.pop(number, None)
        # runs without a result or a failure, and those that wait for what the batch has trained
        self._is_stale |= batch.arm.keeps_weights or not all(
            map(self.results.is_settled, batch.runs)
        )

    def _waits_for(self, now: float) -> str:
        """Return the thing that was waited for long, in words; empty where there is none."""
        held = self._queue.held_elsewhere
        if self._under_way or not held:
            self._busy = now
            return self.pool.waits_for
        return held if now - self._busy > SECONDS_UNTIL_SAID else self.pool.waits_for

    def _show(self, plan: Plan[Any]) -> None:
        if time.monotonic() - self._showed > SECONDS_BETWEEN_STATUSES:
            self._showed = time.monotonic()
            self.show(self.status(plan))
