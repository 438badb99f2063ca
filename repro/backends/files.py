"""The files of a batch: they lie in the store, or last as long as its training."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from repro.arm import Run
from repro.backends.opened import unwatched
from repro.core.progress import Progress
from repro.own.training_run import PassingFiles
from repro.runs.identity import name_of
from repro.runs.pool import Batch, Start
from repro.store import Store

SAVE_SECONDS = 5.0
"""Seconds between two checkpoints, if they cost little."""

SHARE_OF_SAVING = 0.02
"""The share of the time that checkpoints may take: large ones are written less often."""


class StoreFiles:
    """Checkpoints and folders by the keys of a batch's runs, and the parameters they start from."""

    def __init__(
        self,
        store: Store,
        batch: Batch,
        *,
        show: Callable[[Progress], None],
        devices: Mapping[str, str],
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._start, self._show = store, batch.start, show
        self._keys = dict(zip(batch.runs, batch.keys, strict=True))
        self.devices = devices
        self._is_stopping, self._saved_at = is_stopping, time.monotonic()
        self._cost = 0.0
        """The seconds that the last checkpoint of all runs has taken."""
        self.has_saved_last = False
        """True once a checkpoint was saved because training is to stop."""

    def wants_checkpoint(self) -> bool:
        self.has_saved_last = self._is_stopping()
        since = time.monotonic() - self._saved_at
        is_due = self.has_saved_last or since > max(SAVE_SECONDS, self._cost / SHARE_OF_SAVING)
        if is_due:
            self._saved_at, self._cost = time.monotonic(), 0.0
        return is_due

    def load_checkpoint(self, run: Run) -> bytes | None:
        with unwatched():
            return self._store.checkpoints.load(self._keys[run])

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        self._store.checkpoints.save(self._keys[run], payload)
        self._cost = time.monotonic() - self._saved_at

    def drop_checkpoint(self, run: Run, why: str) -> None:
        self._store.checkpoints.drop(self._keys[run])
        self._store.report(
            f"The checkpoint of {name_of(run)} cannot be used ({why}); the run starts again."
        )

    def folder(self, run: Run) -> Path:
        return self._store.folder(self._keys[run])

    def show(self, progress: Progress) -> None:
        with unwatched():
            self._show(progress)

    def load_weights(self, run: Run) -> bytes:
        assert self._start is not None
        assert self._start.run == run
        with unwatched():
            return stored_weights(self._store, self._start)


class FilesWithoutCheckpoints(PassingFiles):
    """Files of runs that begin again where they are interrupted: no checkpoint is kept."""

    def wants_checkpoint(self) -> bool:
        return False

    def load_checkpoint(self, run: Run) -> bytes | None:
        return None

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        pass

    def drop_checkpoint(self, run: Run, why: str) -> None:
        pass


def stored_weights(store: Store, start: Start) -> bytes:
    """Return the parameters that a stored run ended with; raises ValueError if it has none."""
    stored = store.at(start.key)
    if stored is None or stored.weights is None:
        what = "diverged" if stored and "diverged_at" in stored.values else "is not stored"
        raise ValueError(f"{name_of(start.run)}, which this starts from, {what}")
    return stored.weights
