"""The engine that trains each program, settled once by timing it, and kept in the store.

The engine is part of a run's identity. So it is settled before anything asks for a run's key, and
every process and every later session comes to the same one. Who times a program is a backend.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from repro.arm import Arm, Run
from repro.core.device import torch_version
from repro.core.speed import Speed
from repro.files import write_beside
from repro.store import Store

NAMES = ("auto", "loop", "stacked")

USUAL_RATE = 2e10
"""Multiplications a second of one core, to guess by: 1.5e10 to 4e10 were measured."""


def require_engine(name: str) -> None:
    """Raise ValueError where there is no such engine."""
    if name not in NAMES:
        raise ValueError(f"There is no engine {name!r}; choose one of {', '.join(NAMES)}.")


class Engines:
    """The speeds of programs on a kind of device, read from the store and added to it.

    >>> Engines(store, wanted="auto", device="cpu").of(D256_L4)
    """

    def __init__(self, store: Store, *, wanted: str, device: str) -> None:
        require_engine(wanted)
        self.wanted, self.device = wanted, device
        self._folder = store.root / "engines"
        self._folder.mkdir(exist_ok=True)
        self._speeds: dict[str, Speed] = {}

    def of(self, arm: Arm) -> Speed | None:
        """The speed of an arm's program; None until it is settled."""
        if arm.program not in self._speeds:
            try:
                speed = Speed(**json.loads((self._folder / self.name_of(arm)).read_text()))
            except (OSError, ValueError, TypeError):
                return None
            self._speeds[arm.program] = speed
        return self._speeds[arm.program]

    def settle(self, arm: Arm, speed: Speed) -> None:
        """Train an arm's program like this from now on; in later sessions too if it was timed."""
        self._speeds[arm.program] = speed
        if math.isfinite(speed.seconds):
            write_beside(self._folder / self.name_of(arm), json.dumps(asdict(speed)))

    def seconds(self, runs: Sequence[Run]) -> float:
        """Return how long runs of one program take one process to their last epoch."""
        rows = dict.fromkeys(map(self.row, runs))
        speed = self.of(runs[0].arm)
        if speed is not None:
            return sum(run.arm.steps for run in rows) * speed.seconds
        return sum(run.arm.work for run in rows) / USUAL_RATE

    def row(self, run: Run) -> Run:
        """The run that stands for those that train as one with it: a row of the program."""
        speed = self.of(run.arm)
        return run if speed is not None and speed.engine == "stacked" else run.training

    def name_of(self, arm: Arm) -> str:
        """The name that an arm's program goes by in the store, in its files and its locks."""
        program = json.dumps([arm.program, self.wanted, self.device, torch_version()])
        return hashlib.sha256(program.encode()).hexdigest()[:32]
