"""The tasks that run on the nodes of a cluster: facts, timing, training."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import ray

from repro.arm import Arm, Run
from repro.backends.devices import numbered_accelerators
from repro.backends.ray.mailbox import Done, End, NotDone, Place
from repro.backends.ray.shipment import Shipment
from repro.backends.same_key import identity_here, other_key
from repro.core.device import machine, torch_version
from repro.core.progress import Progress
from repro.core.speed import Speed
from repro.own.training_run import PassingFiles
from repro.runs.batch import measure_program, train_batch
from repro.runs.events import Failed, Narrowed, Trained
from repro.store import run_key

SECONDS_BETWEEN_PROGRESS = 0.5


class Facts(NamedTuple):
    """The version of torch on a node, which is part of keys, and its chip."""

    torch: str
    machine: str


@ray.remote(num_cpus=0, max_retries=0)
def facts(device: str) -> Facts:
    """Return the facts of the node that this runs on."""
    return Facts(torch_version(), machine(device))


@ray.remote
def time_program(shipment: Shipment, engine: str) -> Speed:
    """Return how fast arms of one program train here, and how much memory that takes."""
    arms: Sequence[Arm] = shipment.open()
    files = _ShippedFiles(shipment)
    speed = measure_program(arms, engine=engine, device=shipment.device, files=files)
    return replace(speed, memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


@ray.remote
def train(shipment: Shipment, number: int, keys: Sequence[str], engine: str, mailbox: Any) -> None:
    """Train a batch, or what is left of it where another node was lost with it."""
    runs: list[Run] = shipment.open()
    ended, checkpoints = _got(mailbox.state_of.remote(number, len(runs)))
    letters = _Letters(number, runs, mailbox)
    left = []
    for place, (run, key) in enumerate(zip(runs, keys, strict=True)):
        if place in ended:
            continue
        start = shipment.start.key if shipment.start else None
        here = identity_here(run, engine=engine, device=shipment.device, starts_from=start)
        if key in (run_key(here), run_key({**here, "machine": machine(shipment.device)})):
            left.append(run)
        else:
            letters.end(run, NotDone(other_key(run, here)))
    if left:
        files = _ShippedFiles(shipment, letters, checkpoints)
        for event in train_batch(left, engine=engine, device=shipment.device, files=files):
            letters.send(event)
    letters.wait()


def _got(asked: Any) -> Any:
    """Return an answer, without giving the task's cores away for as long as it takes.

    Ray lends the cores of a task whose main thread waits, and both would train on them then.
    """
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(ray.get, asked).result()


class _Letters:
    """Sends the mailbox what comes of the runs of a batch."""

    def __init__(self, number: int, runs: Sequence[Run], mailbox: Any) -> None:
        self.number, self.mailbox = number, mailbox
        self.places = {run: Place(number, place) for place, run in enumerate(runs)}
        self._ends: list[Any] = []
        self._checkpoints: dict[Run, Any] = {}
        self._showed = 0.0

    def send(self, event: Progress | Trained | Failed | Narrowed) -> None:
        match event:
            case Trained(run, values, provenance, weights):
                self.end(run, Done(values, provenance, weights))
            case Failed(run, why, details):
                self.end(run, NotDone(why, details))
            case Narrowed(_, width):
                self.mailbox.leave_width.remote(self.number, width)
            case Progress() if time.monotonic() - self._showed > SECONDS_BETWEEN_PROGRESS:
                self._showed = time.monotonic()
                self.mailbox.leave_progress.remote(self.number, event)

    def end(self, run: Run, end: End) -> None:
        self._ends.append(self.mailbox.leave_end.remote(self.places[run], end))

    def checkpoint(self, run: Run, payload: bytes) -> None:
        """Send a checkpoint, unless the last one is still on its way.

        So a network that is slower than the training gets fewer, and no queue.
        """
        last = self._checkpoints.get(run)
        if last is None or ray.wait([last], timeout=0)[0]:
            sent = self.mailbox.leave_checkpoint.remote(self.places[run], payload)
            self._checkpoints[run] = sent

    def wait(self) -> None:
        """Wait until the mailbox has every end: a task that has returned has nothing under way."""
        ray.get(self._ends)


class _ShippedFiles(PassingFiles):
    """The files of a job's runs, as they came with the job and as they go back.

    The folders of runs that train outside stay on the node, and are lost with it.
    """

    def __init__(
        self,
        shipment: Shipment,
        letters: _Letters | None = None,
        checkpoints: dict[int, bytes] | None = None,
    ) -> None:
        super().__init__(numbered_accelerators(shipment.device))
        self._shipment, self._letters, self._checkpoints = shipment, letters, checkpoints or {}

    def show(self, progress: Progress) -> None:
        assert self._letters is not None
        self._letters.send(progress)

    def load_checkpoint(self, run: Run) -> bytes | None:
        assert self._letters is not None
        return self._checkpoints.get(self._letters.places[run].run)

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        assert self._letters is not None
        self._letters.checkpoint(run, payload)

    def drop_checkpoint(self, run: Run, why: str) -> None:
        """Start the run again; the next checkpoint takes the place of this one in the store."""
        assert self._letters is not None
        del self._checkpoints[self._letters.places[run].run]

    def load_weights(self, run: Run) -> bytes:
        assert self._shipment.start is not None
        content: bytes = _got(self._shipment.start.content)
        return content
