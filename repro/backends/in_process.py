"""The pool that trains in the session's own process, one batch at a time.

For whoever wants to see what training prints, or to stop in the middle of it with a debugger. A run
that Ctrl-C ends goes on from its last checkpoint, which is some seconds old.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from repro.backends.files import StoreFiles
from repro.backends.places import Demand, LocalPool
from repro.backends.trainer import train_batch
from repro.core.progress import Progress
from repro.exits import exit_refused
from repro.runs.pool import Advanced, Batch, Ended, Event, failures
from repro.store import Store


class InProcessPool(LocalPool):
    """A pool that trains in `events`, and nowhere else.

    >>> pool = InProcessPool(store, device="cpu")
    >>> pool.submit(batch)
    >>> for event in pool.events(seconds=1.0):
    ...     print(event)
    """

    trainers = 1

    def __init__(self, store: Store, *, device: str) -> None:
        super().__init__(device)
        self._store = store
        self._batch: Batch | None = None

    def room(self) -> int:
        return 0 if self._batch is not None else self._places.reserve(1)

    def submit(self, batch: Batch) -> None:
        self._batch = batch

    def events(self, seconds: float) -> Iterator[Event]:
        batch = self._batch if seconds else None  # what is ready is judged before
        demand = Demand() if batch is None else Demand.of(batch.arm)
        most = len(self._places.names)
        lacking = demand.lacking(most, where="this machine", device=self.device)
        places = [] if batch is None or lacking else self._places.take(demand.devices)
        if batch is None or not (places or lacking):
            time.sleep(seconds)
            return
        self._batch = None
        try:
            if lacking:
                yield from failures(batch, lacking)
            else:
                yield from self._train(batch, places)
        finally:
            self._places.give_back(places)
            self._places.let_go()
        yield Ended(batch.number)

    def stop(self) -> Sequence[Event]:
        self._batch = None
        self._places.let_go()
        return ()

    def _train(self, batch: Batch, places: Sequence[str]) -> Iterator[Event]:
        numbers = {name: number for number, name in enumerate(self._places.names)}
        devices = {f"{self.device}:{numbers[name]}": name for name in places}
        shown: list[Progress] = []
        files = StoreFiles(
            self._store,
            batch,
            show=shown.append,
            devices={} if self.device == "cpu" else devices,
        )
        events = train_batch(batch.runs, engine=batch.engine, device=self.device, files=files)
        while True:
            with exit_refused():
                event = next(events, None)
            yield from (Advanced(batch.number, progress) for progress in shown)
            shown.clear()
            if event is None:
                return
            yield Advanced(batch.number, event) if isinstance(event, Progress) else event
