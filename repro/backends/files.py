"""The files and results of a batch in the session's store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from repro.arm import Run
from repro.core.progress import Progress
from repro.own.training_run import Files
from repro.runs.identity import name_of
from repro.runs.pool import Batch, Failed, Stored, Trained
from repro.store import Store

SAVE_SECONDS = 5.0
"""Seconds between two checkpoints, if writing them is fast."""

SHARE_OF_SAVING = 0.02
"""The share of the time that checkpoints may take, so large ones are written less often."""


class StoreFiles(Files):
    """The checkpoints and folders of a batch's runs, and the parameters that they start from."""

    def __init__(
        self,
        store: Store,
        batch: Batch,
        *,
        show: Callable[[Progress], None],
        devices: Mapping[str, str],
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._batch, self._show = store, batch, show
        self._keys = batch.keys
        self.devices, self.root = devices, store.root
        self._is_stopping, self._saved_at = is_stopping, time.monotonic()
        self._cost = 0.0
        """The seconds that writing the last checkpoint of all runs took."""
        self.has_saved_last = False
        """True after the last checkpoint before a stop."""

    @property
    def _mark(self) -> bytes:
        return f"{self.engine}:".encode()

    def wants_checkpoint(self) -> bool:
        self.has_saved_last = self._is_stopping()
        since = time.monotonic() - self._saved_at
        is_due = self.has_saved_last or since > max(SAVE_SECONDS, self._cost / SHARE_OF_SAVING)
        if is_due:
            self._saved_at, self._cost = time.monotonic(), 0.0
        return is_due

    def load_checkpoint(self, run: Run) -> bytes | None:
        saved = self._store.checkpoints.load(self._keys[run])
        return saved.removeprefix(self._mark) if saved and saved.startswith(self._mark) else None

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        began = time.monotonic()  # an epoch may have been measured since it was wanted
        self._store.checkpoints.save(self._keys[run], self._mark + payload)
        self._cost += time.monotonic() - began

    def drop_checkpoint(self, run: Run, why: str) -> None:
        self._store.checkpoints.drop(self._keys[run])
        self._store.report(
            f"The checkpoint of {name_of(run)} cannot be used ({why}); the run starts again."
        )

    def folder(self, run: Run) -> Path:
        return self._store.folder(self._keys[run])

    def show(self, progress: Progress) -> None:
        self._show(progress)

    def load_weights(self, run: Run) -> bytes:
        assert self._batch.arm.starts_from == run
        return stored_weights(self._store, self._batch)

    def stored(
        self, events: Iterable[Progress | Trained | Failed]
    ) -> Iterator[Progress | Stored | Failed]:
        """Yield events, and put each trained run into the store."""
        for event in events:
            if isinstance(event, Trained):
                yield stored(event, self._batch, self._store)
            else:
                yield event


def stored(event: Trained, batch: Batch, store: Store) -> Stored | Failed:
    """Put the result of a run into the store; the run fails if a value cannot be written."""
    how = {**event.provenance, **batch.origin}
    try:
        store.put(batch.runs[event.run], event.values, how, weights=event.weights)
    except (TypeError, ValueError) as error:
        return Failed(event.run, f"{name_of(event.run)}, has no result to store: {error}")
    return Stored(event.run)


def stored_weights(store: Store, batch: Batch) -> bytes:
    """Return the stored parameters that a batch starts from; raises ValueError without them."""
    [start] = {run.arm.starts_from for run in batch.runs}
    [key] = {identity["starts_from"] for identity in batch.runs.values()}
    assert start is not None
    stored = store.at(key)
    if stored is None or stored.weights is None:
        what = "diverged" if stored and "diverged_at" in stored.values else "is not stored"
        raise ValueError(f"{name_of(start)}, which this starts from, {what}")
    return stored.weights
