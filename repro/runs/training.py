"""Trains the missing runs of a plan: from the queue through the pool into the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from repro.arm import Run
from repro.core.progress import Progress
from repro.runs.plan import Plan
from repro.runs.pool import Ended, Event, Failed, Kept, Pool, Stored, TrainingStopped
from repro.runs.queue import Queue
from repro.runs.results import Results, TrainingFailed
from repro.runs.time_left import Pace, Status, work_of_all
from repro.store import Store, StoreError
from repro.store.upkeep import tidy

SECONDS_BETWEEN_STATUSES = 0.5

SECONDS_OF_SUBMITTING = 2.0
"""Seconds after which submitting pauses for events: they say how long runs take."""

SECONDS_OF_A_WAIT = 1.0
"""Seconds after which a wait for training looks again whether all is well."""


class Training:
    """The training of one session; other sessions may share its store.

    >>> training = Training(store, pool, results, engine="auto", project=folder)
    >>> plan.want(runs)
    >>> training.train(plan)
    """

    def __init__(
        self, store: Store, pool: Pool[Any], results: Results, *, engine: str, project: Path
    ) -> None:
        self.store, self.pool, self.results = store, pool, results
        self._trained: set[Run] = set()
        self.show: Callable[[Status], None] = lambda status: None
        self._queue = Queue(store, results, engine=engine, device=pool.device, project=project)
        self._shares: dict[int, tuple[str, float]] = {}
        """The progress of each batch in training, in words and as a share."""
        self._began: dict[int, float] = {}
        """The time at which each batch was submitted."""
        self._has_begun = False
        self._showed = 0.0

    @property
    def trained(self) -> int:
        """The number of runs that this session has trained."""
        return len(self._trained)

    def train(self, plan: Plan[Any], *, seconds: float = SECONDS_OF_A_WAIT) -> None:
        """Train until all runs are over that a plan wants, and beside them its other runs.

        Raises `TrainingStopped` where training cannot go on.
        """
        try:
            if not self._has_begun:
                tidy(self.store)
                self._has_begun = True
            self.pool.show = partial(self.advanced, plan)
            self._queue.add(plan.wanted, first=True)
            while plan.wanted:
                self._advance(plan, seconds)
        except StoreError as error:
            raise TrainingStopped(str(error)) from error

    def _advance(self, plan: Plan[Any], seconds: float) -> None:
        """Submit missing runs, and handle events; wait for them for at most this many seconds."""
        has_more = not self._hand_over(plan)
        self._show(plan)
        for event in self.pool.events(0.0 if has_more else seconds):
            self._take(event, plan)
            self._show(plan)

    def stop(self) -> None:
        """End all training after one more checkpoint; runs that end before it are stored."""
        self.pool.stop()
        for number, batch in list(self._queue.batches.items()):
            # claims may have read a run from the store before its trainer's word was heard
            self._trained.update(run for run in batch.runs if self.results.get(run) is not None)
            self._end(number)

    def status(self, plan: Plan[Any]) -> Status:
        """Return the progress of the plan, and the expected time; None if nobody knows."""
        self._add_missing(plan)
        now, left = time.monotonic(), self._queue.work
        paces = {kind: replace(pace) for kind, pace in self._queue.paces.items()}
        for batch in self._queue.batches.values():
            kind = self._queue.kind_of(batch.arm)
            share = self._shares.get(batch.number, ("", 0.0))[1]
            done = share * work_of_all(batch.runs)
            left[kind] += work_of_all(batch.runs) - done
            if done:
                seconds = now - self._began[batch.number]
                paces.setdefault(kind, Pace()).add(work=done, seconds=seconds)
        is_known = not any(left[kind] and kind not in paces for kind in self._queue.untimed)
        seconds = sum(paces.get(kind, Pace()).seconds(work) for kind, work in left.items())
        held = "" if self._queue.batches else self._queue.in_training_elsewhere
        return Status(
            claims=plan.claims,
            open=plan.open,
            requested=0,
            missing=len(plan.missing),
            seconds_left=seconds / self.pool.trainers if is_known else None,
            under_way=" | ".join(words for words, _ in self._shares.values()),
            waits_for=self.pool.waits_for or held,
        )

    def _hand_over(self, plan: Plan[Any]) -> bool:
        """Submit batches while there is room, and note runs that other sessions have trained.

        If no batch is left for a trainer, it reads claims that may miss further runs. Returns False
        if time ran out before all was done.
        """
        self._queue.look_again()
        until, is_new = time.monotonic() + SECONDS_OF_SUBMITTING, True
        while is_new:
            self._add_missing(plan)
            count = len(self._queue.batches)
            for batch in self._queue.take(room=self.pool.room(), trainers=self.pool.trainers):
                self._began[batch.number] = time.monotonic()
                self.pool.submit(batch)
                if time.monotonic() > until:
                    return False
            is_new = len(self._queue.batches) > count or bool(self._queue.found)
            while self._queue.found:
                self._note_done(self._queue.found.pop(), plan)
            if not is_new and self.pool.room() > 0:
                is_new = plan.read_all()
        return True

    def _add_missing(self, plan: Plan[Any]) -> None:
        """Let the queue know what claims miss that were read since."""
        for runs in plan.take_new():
            self._queue.add(runs)

    def _note_done(self, run: Run, plan: Plan[Any]) -> None:
        """Note that a run is stored, or has failed."""
        self._queue.ended(run)
        plan.look([run])

    def _take(self, event: Event, plan: Plan[Any]) -> None:
        match event:
            case Stored(run, key):
                self._trained.add(run)
                if (result := self.store.at(key)) is not None:
                    self.results.keep(run, result)
                self._note_done(run, plan)
            case Kept(run, result):
                self._trained.add(run)
                self.results.keep(run, result)
                self._note_done(run, plan)
            case Failed(run, why, details, at):
                failed = TrainingFailed(why, details=details).with_traceback(at)
                self.results.failures[run] = failed
                self._note_done(run, plan)
            case Ended(number):
                batch = self._queue.batches[number]
                stored = {run: x for run in batch.runs if (x := self.results.get(run)) is not None}
                if stored:
                    kind = self._queue.kind_of(batch.arm)
                    self._queue.paces.setdefault(kind, Pace()).add(
                        work=work_of_all(stored),
                        seconds=sum(x.provenance.get("seconds", 0.0) for x in stored.values()),
                    )
                self._end(number)
                self._queue.add([run for run in batch.runs if not self.results.is_done(run)])
        self._hand_over(plan)

    def advanced(self, plan: Plan[Any], number: int, progress: Progress) -> None:
        """Note how far a batch is, and show it."""
        share = min(1.0, progress.step / progress.total) if progress.total else 0.0
        label = self._queue.batches[number].arm.label
        words = f"{label} x{progress.runs} {progress.step}/{progress.total}"
        self._shares[number] = words, share
        self._show(plan)

    def _end(self, number: int) -> None:
        self._queue.over(number)
        self._shares.pop(number, None)
        self._began.pop(number, None)

    def _show(self, plan: Plan[Any]) -> None:
        if time.monotonic() - self._showed > SECONDS_BETWEEN_STATUSES:
            self._showed = time.monotonic()
            self.show(self.status(plan))
