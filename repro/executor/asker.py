"""What every executor shares, wherever it trains: which runs are stored, can start, or are taken.

A run is trained by whoever holds its lock in the store, so that no two processes train it, on
whatever machines they have it trained. Who finds runs locked takes others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack

from repro.arm import Run
from repro.core.identity import Identity, identity
from repro.executor.batch import name_of, one_at_a_time
from repro.executor.pace import PaceBook
from repro.executor.protocol import TrainingFailed, Values, Work
from repro.store import Store, run_key

LEAST_WIDTH = 8
"""Runs worth stacking, though a smaller batch would share the work out more evenly."""


class Asker:
    """One process's view of the runs, over a store that it may share."""

    def __init__(self, store: Store, pace: PaceBook) -> None:
        self.store, self.pace = store, pace
        self.trained = 0
        self.remarks: list[str] = []
        self.known: dict[Run, Values] = {}
        self.keys: dict[Run, str] = {}
        self.failed: dict[Run, str] = {}
        self.widest: dict[str, int] = {}  # runs that memory holds at once, where it was too small
        self.work_left = Work(looked_at=0.0, missing=0, seconds_left=0.0)

    def identity(self, run: Run) -> Identity:
        """What the run is stored under."""
        engine = self.pace.of(run.arm).engine
        found = identity(run, engine=engine, numerics=self.pace.numerics)
        base = run.arm.starts_from
        return found if base is None else {**found, "starts_from": self.key(base)}

    def key(self, run: Run) -> str:
        if run not in self.keys:
            self.keys[run] = run_key(self.identity(run))
        return self.keys[run]

    def result(self, run: Run) -> Values | None:
        if run in self.failed:
            raise TrainingFailed(self.failed[run])
        if run not in self.known:
            stored = self.store.at(self.key(run)) if self.pace.knows(run.arm) else None
            if stored is None:
                return None
            self.known[run] = stored.values
        return self.known[run]

    def weights_of(self, run: Run) -> bytes:
        """The parameters that a stored run ended with."""
        stored = self.store.at(self.key(run))
        if stored is None or stored.weights is None:
            what = "diverged" if stored and "diverged_at" in stored.values else "is not stored"
            raise ValueError(f"{name_of(run)}, which this starts from, {what}")
        return stored.weights

    def startable(self, runs: Sequence[Run]) -> set[Run]:
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
                self.failed.update((run, f"{name_of(run)}, {why}") for run in theirs)
            elif start is None or self.result(start) is not None:
                startable.update(theirs)
        return startable

    def seconds(self, runs: Sequence[Run]) -> float:
        """How long one process needs for runs of one program, by how early others stopped."""
        seconds = self.pace.seconds(runs)
        if not runs[0].arm.stops_early:
            return seconds
        shares = [
            values["steps"] / run.arm.steps
            for run, values in self.known.items()
            if run.arm.stops_early and run.arm.steps and "steps" in values
        ]
        return seconds * sum(shares) / len(shares) if shares else seconds

    def claim(self, candidates: deque[Run], *, among: int) -> Claimed:
        """A batch of these runs of one program, which so many train at the same time."""
        arm, share = candidates[0].arm, -(-len(candidates) // among)
        pace = self.pace.of(arm)
        width = min(pace.width, max(share, LEAST_WIDTH))
        claimed = Claimed(self, candidates, min(width, self.widest.get(arm.program, width)))
        if claimed.runs and pace.not_stacked:
            self.remarks.append(one_at_a_time(arm, pace.not_stacked))
        return claimed

    def programs(self, runs: Sequence[Run]) -> list[list[Run]]:
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


class Claimed(ExitStack):
    """Runs that nobody has trained or is training, held until this is closed.

    They take up to `width` rows of a program, and are taken off the front of the candidates; what
    others hold is taken off too, and passed over.
    """

    def __init__(self, asker: Asker, candidates: deque[Run], width: int) -> None:
        super().__init__()
        self.runs: list[Run] = []
        rows: set[Run] = set()
        store = asker.store
        while candidates:
            row = asker.pace.row(candidates[0])
            if len(rows | {row}) > width:
                break
            run = candidates.popleft()
            found = asker.identity(run)
            if store.has(found) or (lock := store.locks.try_lock(asker.key(run))) is None:
                continue
            if store.has(found):  # stored by its last holder, between the two looks
                lock.release()
                continue
            self.enter_context(lock)
            self.runs.append(run)
            rows.add(row)
