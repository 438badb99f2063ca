"""What runs on the nodes of a cluster, as Ray tasks: facts, timing, training.

A node is given the key that each run's result will be stored under, and computes it itself before
it trains: other code, data, numerics or versions are noticed, and nothing is stored under a key
that does not say how it was trained.
"""

from __future__ import annotations

import pickle
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import ray

from repro.arm import Arm, Run
from repro.core.device import numerics
from repro.core.identity import Identity, identity
from repro.core.pace import Pace
from repro.executor.batch import train_batch
from repro.executor.pace import measure
from repro.executor.ray.cargo import Cargo, unload
from repro.executor.ray.desk import Done, Failed, Place, Progress
from repro.store import run_key

if TYPE_CHECKING:
    from repro.core.train import Beat

SECONDS_BETWEEN_BEATS = 0.5


class Start(NamedTuple):
    """The run that others start from: its key, and where its parameters are in the cluster."""

    key: str
    weights: Any


@dataclass(frozen=True)
class Parcel:
    """What a node is sent: runs or arms, and what they need there.

    They are pickled by us, not by Ray, which would look for their modules before `paths` are there.
    """

    content: bytes
    paths: tuple[str, ...]
    """Where modules are found, below the working copy."""

    device: str
    cargo: Cargo
    start: Start | None = None

    def open(self) -> Any:
        """The runs or arms; from now on this process is prepared to train them."""
        here = Path.cwd()  # where Ray has unpacked the working copy
        for path in reversed([str(here / place) for place in self.paths]):
            if path not in sys.path:
                sys.path.insert(0, path)
        unload(self.cargo)
        return pickle.loads(self.content)


@ray.remote(num_cpus=0, max_retries=0)
def facts(device: str) -> dict[str, str]:
    """What the bits of a result depend on here."""
    return numerics(device)


@ray.remote
def time_program(parcel: Parcel, engine: str) -> Pace:
    """How fast arms of one program train here, and how much memory that takes."""
    arms: Sequence[Arm] = parcel.open()
    pace = measure(arms, engine=engine, device=parcel.device, by=_Weights(parcel))
    return replace(pace, memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


@ray.remote
def train(parcel: Parcel, number: int, keys: Sequence[str], pace: Pace, desk: Any) -> None:
    """Train a batch, or what is left of it where another node was lost with it."""
    runs: list[Run] = parcel.open()
    ended, checkpoints = ray.get(desk.come_to.remote(number, len(runs)))
    home = _Home(parcel, number, runs, desk, checkpoints)
    left = []
    for place, (run, key) in enumerate(zip(runs, keys, strict=True)):
        if place in ended:
            continue
        found = _identity(run, pace, parcel)
        if run_key(found) == key:
            left.append(run)
        else:
            home.failed_with(run, _other(found))
    if left:
        train_batch(left, pace, parcel.device, home)
    home.wait()


def _identity(run: Run, pace: Pace, parcel: Parcel) -> Identity:
    found = identity(run, engine=pace.engine, numerics=numerics(parcel.device))
    return {**found, "starts_from": parcel.start.key} if parcel.start else found


def _other(found: Identity) -> str:
    about = {name: found[name] for name in ("numerics", "data", "code")}
    return (
        "would be stored under another key by the node that it was sent to, whose code, data or"
        f" versions are not those of the process that asked; there: {about}"
    )


class _Home:
    """The desk, as a batch in training sees it."""

    def __init__(
        self, parcel: Parcel, number: int, runs: Sequence[Run], desk: Any, saved: dict[int, bytes]
    ) -> None:
        self.number, self.desk = number, desk
        self.places = {run: place for place, run in enumerate(runs)}
        self.checkpoints = _Checkpoints(self, saved)
        self.weights = _Weights(parcel)
        self._ends: list[Any] = []
        self._heard = 0.0

    def place(self, run: Run) -> Place:
        return self.number, self.places[run]

    def beat(self, beat: Beat) -> None:
        now = time.monotonic()
        if now - self._heard > SECONDS_BETWEEN_BEATS:
            self._heard = now
            self.desk.hear.remote(self.number, Progress(beat.runs, beat.step, beat.total))

    def done(self, run: Run, values: dict[str, Any], how: dict[str, Any]) -> None:
        weights = self.weights.just_saved.pop(run, None)
        self._ends.append(self.desk.end.remote(self.place(run), Done(values, how, weights)))

    def failed_with(self, run: Run, why: str) -> None:
        self._ends.append(self.desk.end.remote(self.place(run), Failed(why)))

    def fits(self, program: str, width: int) -> None:
        self.desk.fits.remote(self.number, width)

    def wait(self) -> None:
        """Until the desk has every end: a task that has returned has nothing under way."""
        ray.get(self._ends)


class _Checkpoints:
    def __init__(self, home: _Home, saved: dict[int, bytes]) -> None:
        self.home, self.saved = home, saved
        self._on_its_way: dict[Run, Any] = {}

    def load(self, run: Run) -> bytes | None:
        return self.saved.get(self.home.places[run])

    def save(self, run: Run, payload: bytes) -> None:
        """Leave it at the desk, unless the last one is still on its way there.

        So a network that is slower than the training gets fewer, and no queue.
        """
        last = self._on_its_way.get(run)
        if last is None or ray.wait([last], timeout=0)[0]:
            self._on_its_way[run] = self.home.desk.keep.remote(self.home.place(run), payload)


class _Weights:
    def __init__(self, parcel: Parcel) -> None:
        self.parcel = parcel
        self.just_saved: dict[Run, bytes] = {}

    def load(self, run: Run) -> bytes:
        assert self.parcel.start is not None
        content: bytes = ray.get(self.parcel.start.weights)
        return content

    def save(self, run: Run, content: bytes) -> None:
        self.just_saved[run] = content
