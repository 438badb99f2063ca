"""The files and results of a batch in the session's store."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from repro.arm import Run
from repro.code.trace import TRACER, Trace
from repro.core.progress import Progress
from repro.files import remove, write_beside
from repro.own.training_run import Files
from repro.runs.identity import arms_of, name_of, settings_of
from repro.runs.pool import Batch, Failed, Stored, Trained
from repro.store import Made, Result, Store
from repro.store.key import digest_of

SAVE_SECONDS = 5.0
"""Seconds between two checkpoints, if writing them is fast."""

SHARE_OF_SAVING = 0.02
"""The share of the time that checkpoints may take, so large ones are written less often."""


TRACE = "trace.json"
"""The name in a run's folder of what made the files in it."""

_LENGTH = 8
"""The bytes of a number in a checkpoint."""


class Stopped(BaseException):
    """Ends training; a user's `except Exception` does not catch it."""


class StoreFiles(Files):
    """The checkpoints and folders of a batch's runs, and the parameters that they start from.

    Both carry the trace of what made them. They are dropped where that has changed.
    """

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
        self._folders: dict[Run, Path] = {}
        self._noted: dict[Run, Trace] = {}
        """The traces that lie beside the files of runs."""
        self._cost = 0.0
        """The seconds that writing the last checkpoint of all runs took."""
        self._has_saved_last = False
        """True after the last checkpoint before a stop."""

    @property
    def _mark(self) -> bytes:
        return f"{self.engine}:".encode()

    def wants_checkpoint(self) -> bool:
        self._has_saved_last = self._is_stopping()
        since = time.monotonic() - self._saved_at
        is_due = self._has_saved_last or since > max(SAVE_SECONDS, self._cost / SHARE_OF_SAVING)
        if is_due:
            self._saved_at, self._cost = time.monotonic(), 0.0
        return is_due

    def load_checkpoint(self, run: Run) -> bytes | None:
        saved = self._store.checkpoints.load(self._keys[run])
        if saved is None or not saved.startswith(self._mark):
            return None
        at = len(self._mark) + _LENGTH
        end = at + int.from_bytes(saved[at - _LENGTH : at])
        try:
            changed = self._changed(json.loads(zlib.decompress(saved[at:end])))
        except (ValueError, zlib.error):
            changed = ["how checkpoints are written"]
        if changed:
            self.drop_checkpoint(run, f"{changed[0]} has changed")
            return None
        return saved[end:]

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        began = time.monotonic()  # an epoch may have been measured since it was wanted
        made = zlib.compress(json.dumps(TRACER.trace(arms=arms_of(run.arm))).encode())
        head = self._mark + len(made).to_bytes(_LENGTH) + made
        self._store.checkpoints.save(self._keys[run], head + payload)
        self._cost += time.monotonic() - began

    def _changed(self, trace: Trace) -> list[str]:
        """Return what has changed since a file was made; if nothing has, it is gone on from."""
        changed = TRACER.today.changes(trace, digest=digest_of(trace))
        if not changed:
            TRACER.goes_on_from(trace)
        return changed

    def drop_checkpoint(self, run: Run, why: str) -> None:
        self._store.checkpoints.drop(self._keys[run])
        self._store.report(
            f"The checkpoint of {name_of(run)} cannot be used ({why}); the run starts again."
        )

    def folder(self, run: Run) -> Path:
        folder = self._store.folder(self._keys[run])
        if any(folder.iterdir()):
            try:
                changed = self._changed(json.loads((folder / TRACE).read_text()))
            except (OSError, ValueError):
                changed = ["what made them, which is not recorded,"]
            if changed:
                self._store.report(
                    f"The files of {name_of(run)} cannot be used ({changed[0]} has changed); the"
                    " run starts again."
                )
                remove(folder)
                folder = self._store.folder(self._keys[run])
        self._folders[run] = folder
        self._note_folder(run)
        return folder

    def _note_folder(self, run: Run) -> None:
        """Write beside the files of a run what makes them, with all functions: it may be killed."""
        made, path = TRACER.trace(arms=arms_of(run.arm), whole=True), self._folders[run] / TRACE
        if made is not self._noted.get(run) or not path.exists():
            write_beside(path, json.dumps(made))
            self._noted[run] = made

    def show(self, progress: Progress) -> None:
        """Show the progress; raises `Stopped` after the last checkpoint before a stop.

        A black box has written its own when it reports progress.
        """
        for run in self._folders:
            if os.path.isdir(self._folders[run]):
                self._note_folder(run)
        self._show(progress)
        if self._has_saved_last or (self._folders and self._is_stopping()):
            raise Stopped

    def load_weights(self, run: Run) -> bytes:
        assert self._batch.arm.starts_from == run
        stored = stored_start(self._store, self._batch)
        TRACER.goes_on_from(self._store.trace(stored.made.trace) or {})
        assert stored.weights is not None
        return stored.weights


def stored(event: Trained | Failed, batch: Batch, store: Store) -> Stored | Failed:
    """Put the result of a run into the store; the run fails if a value cannot be written."""
    if isinstance(event, Failed):
        return event
    assert event.trace, "a process that stores results records what makes them"
    how = {**event.provenance, **batch.origin}
    made = Made(settings_of(event.run.arm), store.put_trace(event.trace), batch.start)
    try:
        key = store.put(batch.runs[event.run], event.values, how, weights=event.weights, made=made)
    except (TypeError, ValueError) as error:
        return Failed(event.run, f"{name_of(event.run)}, has no result to store: {error}")
    return Stored(event.run, key)


def stored_start(store: Store, batch: Batch) -> Result:
    """Return the stored result that a batch starts from; raises ValueError without parameters."""
    [start] = {run.arm.starts_from for run in batch.runs}
    [address] = {identity["starts_from"] for identity in batch.runs.values()}
    assert start is not None
    found = (each for each in store.all_at(address) if batch.start in ("", each.content))
    stored = next(found, None)
    if stored is None or stored.weights is None:
        what = "diverged" if stored and "diverged_at" in stored.values else "is not stored"
        raise ValueError(f"{name_of(start)}, which this starts from, {what}")
    return stored
