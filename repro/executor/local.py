"""Trains on this machine, beside any number of other processes that share the store.

A run is trained by whoever holds its lock, so that no two processes train it. A process that finds
runs locked takes others, and only waits when all that is missing is in training elsewhere.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from repro.arm import Arm, Run
from repro.core.device import one_thread, ran_out_of_memory, resolve_device
from repro.core.identity import Identity, identity
from repro.executor.device_turn import DeviceTurn
from repro.executor.pace import PaceBook
from repro.executor.protocol import TrainingFailed, Values, Wanted, Watch, Work
from repro.executor.provenance import provenance
from repro.store import Store, run_key
from repro.store.locks import Lock
from repro.studies.find import study_of

if TYPE_CHECKING:
    from repro.core.train import Beat

ENGINE_NAMES = ("auto", "loop", "stacked")
POLL_SECONDS = 0.1
LEAST_WIDTH = 8
"""Runs worth stacking, though a smaller batch would share the work out more evenly."""


class LocalExecutor:
    """This machine, as one of `workers` processes."""

    def __init__(self, store: Store, *, device: str, engine: str, workers: int) -> None:
        self.store, self.workers = store, workers
        self.device = resolve_device(device)
        if engine not in ENGINE_NAMES:
            raise ValueError(
                f"There is no engine {engine!r}; choose one of {', '.join(ENGINE_NAMES)}."
            )
        self.weights = _RunWeights(self)
        self.pace = PaceBook(store, device=self.device, engine=engine, weights=self.weights)
        self.trained = 0
        self.watch: Watch = lambda _: None
        self.work_left = Work(looked_at=0.0, missing=0, seconds_left=0.0)
        self.known: dict[Run, Values] = {}
        self.failed: dict[Run, str] = {}
        self.remarks: list[str] = []
        self.widest: dict[str, int] = {}  # runs that memory holds at once, where it was too small

    def identity(self, run: Run) -> Identity:
        """What the run is stored under."""
        found = identity(run, engine=self.pace.of(run.arm).engine, device=self.device)
        base = run.arm.starts_from
        return found if base is None else {**found, "starts_from": self.key(base)}

    def key(self, run: Run) -> str:
        return run_key(self.identity(run))

    def result(self, run: Run) -> Values | None:
        if run in self.failed:
            raise TrainingFailed(self.failed[run])
        if run not in self.known:
            stored = self.store.get(self.identity(run)) if self.pace.knows(run.arm) else None
            if stored is None:
                return None
            self.known[run] = stored.values
        return self.known[run]

    def work(self, wanted: Wanted, watch: Watch) -> None:
        while wanted_now := wanted():
            startable = self._startable(wanted_now)
            self.pace.learn([run.arm for run in startable])
            programs = self._programs(wanted_now)
            left = sum(self._seconds(runs) for runs in programs)
            self.work_left = Work(looked_at=time.time(), missing=len(wanted_now), seconds_left=left)
            self.watch = watch
            watch(self.work_left)
            ready = (runs for runs in programs if runs[0] in startable)
            if not any(self._train_some(runs) for runs in ready):
                time.sleep(POLL_SECONDS)

    def _startable(self, runs: Sequence[Run]) -> set[Run]:
        """Of these runs those that can start now: whose own start is not wanted still.

        Where that has failed, they fail with it. All runs of a program start from the same.
        """
        by_start: dict[Run | None, list[Run]] = {}
        starts = {arm: arm.starts_from for arm in {run.arm for run in runs}}
        for run in runs:
            by_start.setdefault(starts[run.arm], []).append(run)
        startable: set[Run] = set()
        for start, theirs in by_start.items():
            if start in self.failed:
                why = f"cannot be trained without what it starts from: {self.failed[start]}"
                self.failed.update((run, f"{_name(run)}, {why}") for run in theirs)
            elif start is None or self.result(start) is not None:
                startable.update(theirs)
        return startable

    def _seconds(self, runs: Sequence[Run]) -> float:
        """How long one process needs for runs of one program, by how early others stopped."""
        seconds = self.pace.seconds(runs)
        if runs[0].arm.recipe.patience is None:
            return seconds
        shares = [
            values["steps"] / run.arm.steps
            for run, values in self.known.items()
            if run.arm.recipe.patience is not None and run.arm.steps and "steps" in values
        ]
        return seconds * sum(shares) / len(shares) if shares else seconds

    def _programs(self, runs: Sequence[Run]) -> list[list[Run]]:
        """Missing runs by program, each sorted as its stack wants them.

        Those that others start from come first, then the longest work.
        """
        programs: dict[str, list[Run]] = {}
        for run in runs:
            programs.setdefault(run.arm.program, []).append(run)
        for group in programs.values():
            places = {
                training: n for n, training in enumerate(dict.fromkeys(r.training for r in group))
            }
            group.sort(key=lambda run: (-run.arm.effort, places[run.training]))
        return sorted(
            programs.values(),
            key=lambda group: (not group[0].arm.keeps_weights, -self.pace.seconds(group)),
        )

    def _train_some(self, candidates: Sequence[Run]) -> bool:
        """Train a batch of these runs; False where all of them are somebody else's."""
        arm, share = candidates[0].arm, -(-len(candidates) // self.workers)
        width = min(self.pace.of(arm).width, max(share, LEAST_WIDTH))
        width = min(width, self.widest.get(arm.program, width))
        with DeviceTurn(self.device), Claimed(self, candidates, width) as runs:
            if runs:
                self._train(runs)
            return bool(runs)

    def _train(self, runs: list[Run]) -> None:
        """Train runs of one program together, or in halves where memory cannot hold them all."""
        shortage = self._train_together(runs)
        if shortage is None:
            return
        left = [run for run in runs if not self.store.has(self.identity(run))]
        if len(runs) == 1:
            self.failed.update(
                (
                    run,
                    f"{_name(run)} does not fit into memory on its own ({shortage}); free some,"
                    " or train it on a larger device.",
                )
                for run in left
            )
            return
        half = -(-len(runs) // 2)
        self.widest[runs[0].arm.program] = half
        for start in range(0, len(left), half):
            self._train(left[start : start + half])

    def _train_together(self, runs: list[Run]) -> str | None:
        """Train and store runs; what was said where memory ran out.

        Said rather than raised: the exception would keep the memory of what it left unfinished.
        """
        import torch

        from repro.core.train import train

        one_thread()
        began, pace = time.monotonic(), self.pace.of(runs[0].arm)
        if pace.not_stacked:
            self.remarks.append(_one_at_a_time(runs[0].arm, pace.not_stacked))
        done: set[Run] = set()
        try:
            for run, values in train(
                study_of(runs[0].arm),
                runs,
                engine=pace.engine,
                device=torch.device(self.device),
                checkpoints=_RunCheckpoints(self),
                weights=self.weights,
                beat=Pulse(self.watch, self.work_left, runs[0].arm.label),
            ):
                seconds = (time.monotonic() - began) / len(runs)
                self.store.put(
                    self.identity(run),
                    values,
                    provenance(seconds, len(runs)),
                    weights=self.weights.just_saved.pop(run, None),
                )
                self.trained += 1
                done.add(run)
        except Exception as error:
            if ran_out_of_memory(error):
                return str(error)
            for run in set(runs) - done:
                what = f"{type(error).__name__}: {error}"
                self.failed[run] = f"{_name(run)}, failed to train: {what}"
        return None


def _one_at_a_time(arm: Arm, why: str) -> str:
    short = textwrap.shorten(why.partition(". ")[0], 160, placeholder=" …")
    return f"{arm.label} was trained one run at a time; its module is not stacked: {short}"


def _name(run: Run) -> str:
    return f"{run.arm.label}, seed {run.seed}"


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


class Claimed:
    """Runs that nobody has trained or is training, held for as long as it lasts.

    They take up to `width` rows of a program.
    """

    def __init__(self, executor: LocalExecutor, candidates: Sequence[Run], width: int) -> None:
        self.executor, self.candidates, self.width = executor, candidates, width
        self.locks: list[Lock] = []

    def __enter__(self) -> list[Run]:
        store = self.executor.store
        runs: list[Run] = []
        rows: set[Run] = set()
        for run in self.candidates:
            row = self.executor.pace.row(run)
            if len(rows | {row}) > self.width:
                break
            found = self.executor.identity(run)
            if store.has(found) or (lock := store.locks.try_lock(run_key(found))) is None:
                continue
            if store.has(found):  # stored by its last holder, between the two looks
                lock.release()
                continue
            self.locks.append(lock)
            runs.append(run)
            rows.add(row)
        return runs

    def __exit__(self, *_: object) -> None:
        for lock in self.locks:
            lock.release()


class _RunCheckpoints:
    """The store's checkpoints, by run."""

    def __init__(self, executor: LocalExecutor) -> None:
        self.executor = executor

    def load(self, run: Run) -> bytes | None:
        return self.executor.store.checkpoints.load(run_key(self.executor.identity(run)))

    def save(self, run: Run, payload: bytes) -> None:
        self.executor.store.checkpoints.save(run_key(self.executor.identity(run)), payload)


class _RunWeights:
    """The parameters of stored runs; those of a run that ends wait here to be stored with it."""

    def __init__(self, executor: LocalExecutor) -> None:
        self.executor = executor
        self.just_saved: dict[Run, bytes] = {}

    def load(self, run: Run) -> bytes:
        stored = self.executor.store.get(self.executor.identity(run))
        if stored is None or stored.weights is None:
            what = "diverged" if stored and "diverged_at" in stored.values else "is not stored"
            raise ValueError(f"{_name(run)}, which this starts from, {what}")
        return stored.weights

    def save(self, run: Run, content: bytes) -> None:
        self.just_saved[run] = content
