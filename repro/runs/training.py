"""Trains the missing runs of a plan: from the queue through the pool into the store."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from repro.arm import Arm, Run
from repro.runs.plan import Plan
from repro.runs.pool import Advanced, Ended, Event, Failed, Pool, Stored, TrainingStopped
from repro.runs.progress import Pace, Status
from repro.runs.queue import Queue, work_of, work_of_all
from repro.runs.results import Results, TrainingFailed
from repro.store import Store, StoreError
from repro.store.upkeep import tidy

SECONDS_BETWEEN_STATUSES = 0.5


class Training:
    """The training of one session; other sessions may share its store.

    >>> training = Training(store, pool, results, engine="auto", project=folder)
    >>> while plan.take_ready() is None:
    ...     training.advance(plan, seconds=1.0)
    """

    def __init__(
        self, store: Store, pool: Pool[Any], results: Results, *, engine: str, project: Path
    ) -> None:
        self.store, self.pool, self.results = store, pool, results
        self.trained = 0
        """The number of runs that this session has trained."""
        self.show: Callable[[Status], None] = lambda status: None
        self._queue = Queue(store, results, engine=engine, device=pool.device, project=project)
        self._shares: dict[int, tuple[str, float]] = {}
        """The progress of each batch in training, in words and as a share."""
        self._began: dict[int, float] = {}
        """The time at which each batch was submitted."""
        self._paces: defaultdict[tuple[str, str], Pace] = defaultdict(Pace)
        """The speed of training of each study, by engine."""
        self._has_begun = False
        self._showed = 0.0

    def advance(self, plan: Plan[Any], *, seconds: float) -> None:
        """Submit missing runs, and handle events; wait for them for at most this many seconds.

        Raises `TrainingStopped` where training cannot go on.
        """
        try:
            if not self._has_begun:
                tidy(self.store)
                self._has_begun = True
            self._hand_over(plan)
            self._show(plan)
            for event in self.pool.events(seconds):
                self._take(event, plan)
                self._show(plan)
        except StoreError as error:
            raise TrainingStopped(str(error)) from error

    def stop(self) -> None:
        """End all training after one more checkpoint; runs that end before it are stored."""
        self.pool.stop()
        for number in list(self._queue.batches):
            self._over(number)

    def status(self, plan: Plan[Any]) -> Status:
        """Return the progress of the plan."""
        missing = plan.missing
        held = "" if self._queue.batches else self._queue.in_training_elsewhere
        return Status(
            claims=plan.claims,
            open=plan.open,
            requested=0,
            missing=len(missing),
            seconds_left=self._seconds_left(missing),
            under_way=" | ".join(words for words, _ in self._shares.values()),
            waits_for=self.pool.waits_for or held,
        )

    def _seconds_left(self, missing: Iterable[Run]) -> float:
        """Return the expected time until these runs are trained."""
        now, under_way = time.monotonic(), self._queue.batches.values()
        in_batches = {run for batch in under_way for run in batch.runs}
        paces = {kind: replace(pace) for kind, pace in self._paces.items()}
        left: defaultdict[tuple[str, str], float] = defaultdict(float)
        for batch in under_way:
            kind, share = self._kind(batch.arm), self._shares.get(batch.number, ("", 0.0))[1]
            done = share * work_of_all(batch.runs)
            left[kind] += work_of_all(batch.runs) - done
            if done:
                seconds = now - self._began[batch.number]
                paces.setdefault(kind, Pace()).add(work=done, seconds=seconds)
        for run in missing:
            if run not in in_batches:
                left[self._kind(run.arm)] += work_of(run)
        seconds = sum(paces.get(kind, Pace()).seconds(work) for kind, work in left.items())
        return seconds / self.pool.trainers

    def _hand_over(self, plan: Plan[Any]) -> None:
        """Submit batches while there is room, and note runs that other sessions have trained."""
        is_new = True
        while is_new and (room := self.pool.room()) > 0:
            trainers, claims = self.pool.trainers, plan.missing_by_claim
            for batch in self._queue.take(
                plan.missing, claims=claims, room=room, trainers=trainers
            ):
                self._began[batch.number] = time.monotonic()
                self.pool.submit(batch)
            failures = self.results.failures  # with the runs that start from a failed one
            is_new = plan.look([*self._queue.elsewhere, *failures])

    def _take(self, event: Event, plan: Plan[Any]) -> None:
        match event:
            case Stored(run):
                self.trained += 1
                plan.look([run])
            case Failed(run, why, details, at):
                failed = TrainingFailed(why, details=details).with_traceback(at)
                self.results.failures[run] = failed
                plan.look([run])
            case Advanced(number, progress):
                share = min(1.0, progress.step / progress.total) if progress.total else 0.0
                label = self._queue.batches[number].arm.label
                words = f"{label} x{progress.runs} {progress.step}/{progress.total}"
                self._shares[number] = words, share
            case Ended(number):
                batch, began = self._queue.batches[number], self._began[number]
                self._paces[self._kind(batch.arm)].add(
                    work=work_of_all(batch.runs), seconds=time.monotonic() - began
                )
                self._over(number)
        if not isinstance(event, Advanced):
            self._hand_over(plan)

    def _over(self, number: int) -> None:
        self._queue.over(number)
        self._shares.pop(number, None)
        self._began.pop(number, None)

    def _show(self, plan: Plan[Any]) -> None:
        if time.monotonic() - self._showed > SECONDS_BETWEEN_STATUSES:
            self._showed = time.monotonic()
            self.show(self.status(plan))

    def _kind(self, arm: Arm) -> tuple[str, str]:
        """Return the study and the engine, whose runs have one pace."""
        return arm.study, self._queue.engine_of(arm)
