"""A batch as a job of Slurm: trained on a node, its results put into the store that all share.

submitit calls it, and calls it again where the job starts again: after a time limit, a preemption
or a lost node. What was stored by then is left alone, the rest goes on from its checkpoints.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from submitit.helpers import DelayedSubmission

from repro.arm import Run
from repro.backends.files import StoreFiles
from repro.backends.node import identity_here, part_of, train_here
from repro.backends.places import numbered_accelerators
from repro.core.progress import Progress
from repro.runs.identity import name_of
from repro.runs.pool import Batch, Failed, Narrowed, Trained
from repro.store import Store

SHARE_OF_LIMIT = 0.5
"""The part of its time limit after which a job should have had its first checkpoint."""


class _OutOfTime(BaseException):
    """Ends a job in the middle of a user's training, which may catch every Exception."""


class _NodeFiles(StoreFiles):
    """The files of a batch in the shared store, which know whether anything was kept."""

    has_saved = False

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        super().save_checkpoint(run, payload)
        self.has_saved = True


@dataclass
class BatchJob:
    """Trains a batch on a node; returns what has come of it besides results.

    >>> BatchJob(store.root, batch, device="cpu", minutes=60, provenance={})()
    []
    """

    store: Path
    batch: Batch
    device: str
    minutes: int
    provenance: dict[str, Any]
    """The origin of the code, as the session knows it: part of each result's provenance."""

    _began: float = field(default=0.0, init=False)
    _files: _NodeFiles | None = field(default=None, init=False)
    _is_ending: bool = field(default=False, init=False)

    def __call__(self) -> list[Failed | Narrowed]:
        self._began = time.monotonic()
        store = Store(self.store)
        batch = _missing_of(self.batch, store)
        told: list[Failed | Narrowed] = []
        devices = numbered_accelerators(self.device)
        self._files = _NodeFiles(store, batch, show=_unseen, devices=devices)
        try:
            for event in train_here(batch, device=self.device, files=self._files):
                if self._is_ending:  # the exit of submitit was taken for one of the training
                    sys.exit(-1)
                match event:
                    case Trained():
                        told += self._put(event, store)
                        self._files.has_saved = True
                    case Failed() | Narrowed():
                        told.append(event)
        except _OutOfTime as error:
            ended = {each.run for each in told if isinstance(each, Failed)}
            left = [run for run in _missing_of(batch, store).runs if run not in ended]
            told += [Failed(run, f"{name_of(run)}, {error}") for run in left]
        return told

    def checkpoint(self) -> DelayedSubmission:
        """Return the job again, for Slurm to start it once more: submitit asks when time is up."""
        took = time.monotonic() - self._began
        has_saved = self._files is not None and self._files.has_saved
        if took > SHARE_OF_LIMIT * 60 * self.minutes and not has_saved:
            raise _OutOfTime(
                f"came to no checkpoint within the time limit of {self.minutes} min; give its job"
                " more by --slurm-time"
            )
        self._is_ending = True
        return DelayedSubmission(replace(self))

    def _put(self, event: Trained, store: Store) -> Iterator[Failed]:
        here = identity_here(event.run, self.batch, self.device)
        how = {**event.provenance, **self.provenance}
        try:
            store.put(here, event.values, how, weights=event.weights)
        except (TypeError, ValueError) as error:  # a value that no file can hold
            yield Failed(event.run, f"{name_of(event.run)}, has no result to store: {error}")


def _unseen(progress: Progress) -> None:
    """Show nothing: a session learns of results alone."""


def _missing_of(batch: Batch, store: Store) -> Batch:
    return part_of(batch, {key for key in batch.keys if store.at(key) is None})
