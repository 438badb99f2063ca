"""Trains on this machine, beside any number of other processes that share the store.

A process that finds runs locked takes others, and only waits when all that is missing is in
training elsewhere.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from repro.arm import Run
from repro.core.device import resolve_device
from repro.executor.asker import Asker
from repro.executor.batch import train_batch
from repro.executor.pace import PaceHere
from repro.executor.protocol import Wanted, Watch, Work, require_engine
from repro.executor.turn import Turn, turn_on
from repro.store import Store

if TYPE_CHECKING:
    from repro.core.train import Beat

POLL_SECONDS = 0.1


class LocalExecutor(Asker):
    """This machine, as one of `workers` processes of a session."""

    def __init__(
        self, store: Store, *, device: str, engine: str, workers: int, session: str | None = None
    ) -> None:
        self.device = resolve_device(device)
        self.workers, self.session = workers, session or str(os.getpid())
        require_engine(engine)
        self.checkpoints, self.weights = _RunCheckpoints(self), _RunWeights(self)
        super().__init__(
            store, PaceHere(store, device=self.device, engine=engine, weights=self.weights)
        )
        self.watch: Watch = lambda _: None
        self.pulse = Pulse(self.watch, self.work_left, "")

    @cached_property
    def turn(self) -> Turn:
        """This process's turn to train; a session that trains nothing needs none."""
        return turn_on(self.device, processes=self.workers, session=self.session)

    def work(self, wanted: Wanted, watch: Watch) -> None:
        while wanted_now := wanted():
            startable = self.startable(wanted_now)
            self.pace.learn([run.arm for run in startable])
            programs = self.programs(wanted_now)
            left = sum(self.seconds(runs) for runs in programs)
            self.work_left = Work(looked_at=time.time(), missing=len(wanted_now), seconds_left=left)
            self.watch = watch
            watch(self.work_left)
            ready = (runs for runs in programs if runs[0] in startable)
            if not any(self._train_some(runs) for runs in ready):
                time.sleep(POLL_SECONDS)

    def _train_some(self, candidates: Sequence[Run]) -> bool:
        """Train a batch of these runs; False where all of them are somebody else's."""
        waiting = deque(candidates)
        with self.turn, self.claim(waiting, among=len(self.turn.names)) as claimed:
            if claimed.runs:
                arm = claimed.runs[0].arm
                self.pulse = Pulse(self.watch, self.work_left, arm.label)
                train_batch(claimed.runs, self.pace.of(arm), self.device, self)
            return bool(claimed.runs)

    def beat(self, beat: Beat) -> None:
        self.pulse(beat)

    def done(self, run: Run, values: dict[str, Any], how: dict[str, Any]) -> None:
        weights = self.weights.just_saved.pop(run, None)
        self.store.put(self.identity(run), values, how, weights=weights)
        self.trained += 1

    def failed_with(self, run: Run, why: str) -> None:
        self.failed[run] = why

    def fits(self, program: str, width: int) -> None:
        self.widest[program] = width


class Pulse:
    """Turns the beats of one batch into words on the work that is done."""

    def __init__(self, watch: Watch, work: Work, program: str) -> None:
        self.watch, self.work, self.program = watch, work, program
        self.first: tuple[float, int] | None = None  # when, and at which step

    def __call__(self, beat: Beat) -> None:
        now = time.monotonic()
        since, first_step = self.first = self.first or (now, beat.step)
        steps = (beat.step - first_step) * beat.runs
        self.watch(
            replace(
                self.work,
                program=self.program,
                runs=beat.runs,
                step=beat.step,
                total=beat.total,
                run_steps_per_second=steps / (now - since) if steps else 0.0,
            )
        )


class _RunCheckpoints:
    """The store's checkpoints, by run."""

    def __init__(self, executor: LocalExecutor) -> None:
        self.executor = executor

    def load(self, run: Run) -> bytes | None:
        return self.executor.store.checkpoints.load(self.executor.key(run))

    def save(self, run: Run, payload: bytes) -> None:
        self.executor.store.checkpoints.save(self.executor.key(run), payload)


class _RunWeights:
    """The parameters of stored runs; those of a run that ends wait here to be stored with it."""

    def __init__(self, executor: LocalExecutor) -> None:
        self.executor = executor
        self.just_saved: dict[Run, bytes] = {}

    def load(self, run: Run) -> bytes:
        return self.executor.weights_of(run)

    def save(self, run: Run, content: bytes) -> None:
        self.just_saved[run] = content
