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
from pathlib import Path
from typing import Any

from repro.arm import Arm, Run
from repro.core.device import torch_version
from repro.core.speed import Speed
from repro.files import write_beside
from repro.store import Store
from repro.store.errors import explained

NAMES = ("auto", "loop", "stacked")

FORMAT = 2
"""The number of the form that speeds are written in; files of another one are not looked at."""

WIDEST = 4096
"""Runs that nobody stacks more of."""

SLOWEST = 24 * 60 * 60
"""Seconds that no step of one run takes."""

USUAL_RATE = 3.2e10
"""Multiplications a second of one core, to guess by: 2.2e10 to 4.7e10 were measured."""


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
        self._store, self._folder = store, store.root / "engines"
        with explained(store.root):
            self._folder.mkdir(exist_ok=True)
        self._speeds: dict[str, Speed] = {}
        self._reported: set[Path] = set()

    def of(self, arm: Arm) -> Speed | None:
        """The speed of an arm's program; None until it is settled."""
        if arm.program not in self._speeds:
            speed = self._read(self._folder / self.name_of(arm))
            if speed is None:
                return None
            self._speeds[arm.program] = speed
        return self._speeds[arm.program]

    def settle(self, arm: Arm, speed: Speed) -> None:
        """Train an arm's program like this from now on; in later sessions too if it was timed."""
        self._speeds[arm.program] = speed
        if math.isfinite(speed.seconds):
            with explained(self._store.root):
                write_beside(self._folder / self.name_of(arm), _as_text(speed))

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

    def adopt(self, name: str, speed: Speed) -> Speed:
        """Keep a speed that another store has by this name, unless there is one; return what is."""
        path = self._folder / name
        known = self._read(path)
        if known is None:
            with explained(self._store.root):
                write_beside(path, _as_text(speed))
        return known or speed

    def name_of(self, arm: Arm) -> str:
        """The name that an arm's program goes by in the store, in its files and its locks."""
        program = [FORMAT, arm.program, self.wanted, self.device, torch_version()]
        return hashlib.sha256(json.dumps(program).encode()).hexdigest()[:32]

    def _read(self, path: Path) -> Speed | None:
        """Return the speed in a file; None where there is none or, with a report, a damaged one."""
        try:
            return _from_text(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError):
            if path not in self._reported:
                self._store.report(f"The timing {path} is damaged; its program is timed again.")
            self._reported.add(path)
            return None


def _as_text(speed: Speed) -> str:
    return json.dumps({"speed": asdict(speed), "sha256": _sum(asdict(speed))})


def _from_text(text: bytes) -> Speed:
    """Return the speed that was written so; raises ValueError, TypeError or KeyError."""
    content = json.loads(text)
    if content["sha256"] != _sum(content["speed"]):
        raise ValueError(f"{text!r} is no speed as it was written")
    return sound_speed(content["speed"])


def sound_speed(fields: dict[str, Any]) -> Speed:
    """Return the speed of these fields; raises ValueError or TypeError where none can be so.

    >>> sound_speed({"engine": "loop", "width": 1, "seconds": 0.01}).width
    1
    """
    speed = Speed(**fields)
    is_sound = (
        speed.engine in NAMES[1:]
        and type(speed.width) is type(speed.memory) is int
        and isinstance(speed.not_stacked, str)
        and 1 <= speed.width <= WIDEST
        and 0 <= speed.seconds < SLOWEST
        and speed.memory >= 0
    )
    if not is_sound:
        raise ValueError(f"{fields} is the speed of no program")
    return speed


def _sum(speed: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(speed, sort_keys=True).encode()).hexdigest()
