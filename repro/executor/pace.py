"""What was measured of each program's speed on a kind of machine, kept in the store.

The engine is part of a run's identity, so a program is measured once a store and not again: every
process, and every later session, must come to the same engine.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from repro.arm import Arm, Run
from repro.core.device import numerics, one_thread
from repro.core.pace import Pace
from repro.store import Store
from repro.store.locks import Lock
from repro.studies.find import study_of

if TYPE_CHECKING:
    from repro.core.weights import Weights

POLL_SECONDS = 0.05

USUAL_RATE = 2e10
"""Multiplications a second of one core, to guess by: 1.5e10 to 4e10 were measured."""


class PaceBook(ABC):
    """Paces by program, read from the store; who learns those that are not there says how."""

    def __init__(self, store: Store, *, numerics: dict[str, str], engine: str) -> None:
        self.store, self.numerics, self.engine = store, numerics, engine
        self.folder = store.root / "pace"
        self.folder.mkdir(exist_ok=True)
        self.paces: dict[str, Pace] = {}

    def knows(self, arm: Arm) -> bool:
        """Whether the program of an arm was measured."""
        if arm.program not in self.paces:
            try:
                found = Pace(**json.loads((self.folder / self._name(arm)).read_text()))
            except (OSError, ValueError, TypeError):
                return False
            self.paces[arm.program] = found
        return True

    def of(self, arm: Arm) -> Pace:
        """The pace of an arm's program, measured now if need be."""
        self.learn([arm])
        return self.paces[arm.program]

    def learn(self, arms: Iterable[Arm]) -> None:
        """Have the paces of all these arms' programs; neighbours measure different ones."""
        programs: dict[str, list[Arm]] = {}
        for arm in dict.fromkeys(arms):
            if not self.knows(arm):
                programs.setdefault(arm.program, []).append(arm)
        waiting = list(programs.values())
        while waiting:
            self.measure_some(waiting)
            waiting = [group for group in waiting if not self.knows(group[0])]
            if waiting:
                time.sleep(POLL_SECONDS)

    @abstractmethod
    def measure_some(self, programs: Sequence[Sequence[Arm]]) -> None:
        """Measure what nobody else is measuring now of these programs, and keep it."""

    def try_lock(self, arm: Arm) -> Lock | None:
        """Held by who measures the program of an arm; None where somebody does already."""
        return self.store.locks.try_lock(f"pace-{self._name(arm)}")

    def keep(self, arm: Arm, pace: Pace) -> None:
        """Keep what was measured, for every later session too if it came to a number."""
        self.paces[arm.program] = pace
        if math.isfinite(pace.seconds):
            name = self._name(arm)
            beside = self.folder / f"{name}.new"
            beside.write_text(json.dumps(asdict(pace)))
            beside.replace(self.folder / name)

    def seconds(self, runs: Sequence[Run]) -> float:
        """How long these runs of one program take one process: measured, else a guess."""
        rows = dict.fromkeys(map(self.row, runs))
        if self.knows(runs[0].arm):
            seconds = self.paces[runs[0].arm.program].seconds
            return sum(run.arm.steps for run in rows) * seconds
        work = sum(run.arm.work for run in rows)
        return work / USUAL_RATE

    def row(self, run: Run) -> Run:
        """What a run takes up in a program: a row of the stack, or a training it may share."""
        is_stacked = self.knows(run.arm) and self.paces[run.arm.program].engine == "stacked"
        return run if is_stacked else run.training

    def _name(self, arm: Arm) -> str:
        what = json.dumps([arm.program, self.engine, self.numerics], sort_keys=True)
        return hashlib.sha256(what.encode()).hexdigest()[:32]


class PaceHere(PaceBook):
    """Paces of this machine, measured by this process."""

    def __init__(
        self, store: Store, *, device: str, engine: str, weights: Weights | None = None
    ) -> None:
        super().__init__(store, numerics=numerics(device), engine=engine)
        self.device, self.weights = device, weights

    def measure_some(self, programs: Sequence[Sequence[Arm]]) -> None:
        for arms in programs:
            lock = self.try_lock(arms[0])
            if lock is None:
                continue
            with lock:
                if not self.knows(arms[0]):
                    pace = measure(arms, engine=self.engine, device=self.device, by=self.weights)
                    self.keep(arms[0], pace)


def measure(arms: Sequence[Arm], *, engine: str, device: str, by: Weights | None) -> Pace:
    """Time a program here and now."""
    import torch

    from repro.core.timing import measure_pace

    one_thread()
    study = study_of(arms[0])
    return measure_pace(study, arms, engine=engine, device=torch.device(device), weights=by)
