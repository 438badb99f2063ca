"""The work of a job on a node: it times a program, or trains batches, one after the other.

submitit calls it, and calls it again where the job starts again: after a time limit, a preemption
or a lost node. Results and checkpoints are in the shared folder by then, and it goes on from there.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from submitit.helpers import DelayedSubmission

from repro.arm import Run
from repro.backends.devices import numbered_accelerators
from repro.backends.files import StoreFiles
from repro.backends.same_key import identity_here, other_key
from repro.backends.slurm.shared import Errand, SharedFolder
from repro.core.progress import Progress
from repro.runs.batch import measure_program, train_batch
from repro.runs.events import Failed, Narrowed, Trained
from repro.runs.identity import Identity, name_of
from repro.runs.jobs import Batch, Timing
from repro.store import Store, run_key

SECONDS_BETWEEN_REPORTS = 2.0

SHARE_OF_LIMIT = 0.5
"""The part of its time limit after which a job should have had its first checkpoint."""


class NodeJob:
    """Batches of the shared folder, as one job of Slurm."""

    def __init__(self, root: Path, batches: tuple[str, ...], *, minutes: int) -> None:
        self._root, self._batches, self._minutes = root, batches, minutes
        self._began = 0.0
        self._at_work: _BatchAtWork | None = None

    def __call__(self) -> None:
        self._began = time.monotonic()
        shared = SharedFolder(self._root)
        for batch in self._batches:
            self._at_work = _BatchAtWork(shared, batch)
            self._at_work.carry_out()

    def checkpoint(self) -> DelayedSubmission | None:
        """Return the job again, for Slurm to start it once more: submitit asks when time is up.

        None where it would come no further, since nothing was saved in all its time.
        """
        took = time.monotonic() - self._began
        is_long = took > SHARE_OF_LIMIT * 60 * self._minutes
        if is_long and self._at_work is not None and not self._at_work.has_saved:
            self._at_work.give_up(
                f"came to no checkpoint within the time limit of {self._minutes} min; give its job"
                " more by --slurm-time"
            )
            return None
        return DelayedSubmission(NodeJob(self._root, self._batches, minutes=self._minutes))


class _BatchAtWork:
    """One batch, what came of it, and what is left."""

    def __init__(self, shared: SharedFolder, batch: str) -> None:
        self._shared, self._batch = shared, batch
        self._report = shared.report(batch)
        self._left: dict[Run, Identity] = {}
        self._keys: dict[Run, str] = {}
        self._told = 0.0
        self.has_saved = False

    def carry_out(self) -> None:
        """Carry the batch out, or what is left of it."""
        if self._report.is_over or not self._is_wanted():
            return
        errand = self._shared.errand(self._batch)
        os.environ["REPRO_DATA"] = str(errand.data)
        if isinstance(errand.job, Timing):
            self._time(errand, errand.job)
        else:
            self._train(errand, errand.job)
        self._report.is_over = True
        self._tell()

    def give_up(self, why: str) -> None:
        """Say of all that is left why it will not be trained."""
        for run in self._left:
            self._report.failed.setdefault(self._keys[run], (f"{name_of(run)}, {why}", ""))
        self._report.is_over = True
        self._tell()

    def _is_wanted(self) -> bool:
        note = self._shared.note(self._batch)
        return note is None or any(map(self._is_here, note.names))

    def _is_here(self, name: str) -> bool:
        return self._shared.batch_of(name) == self._batch

    def _time(self, errand: Errand, job: Timing) -> None:
        files = StoreFiles(self._shared.results, job, show=lambda progress: None, devices={})
        speed = measure_program(job.arms, engine=job.engine, device=errand.device, files=files)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self._report.speed = asdict(replace(speed, memory=most))

    def _train(self, errand: Errand, job: Batch) -> None:
        start = job.start.key if job.start else None
        for run, key in zip(job.runs, job.keys, strict=True):
            if key in self._report.failed or not self._is_here(key):
                continue
            here = identity_here(
                run, engine=job.speed.engine, device=errand.device, starts_from=start
            )
            self._keys[run] = key
            if run_key(here) != key:
                self._report.failed[key] = (other_key(run, here), "")
            elif self._shared.results.at(key) is not None:
                self._end(key)
            else:
                self._left[run] = here
        if not self._left:
            return
        self._tell()
        files = _NodeFiles(
            self._shared.results,
            job,
            show=self._add,
            saved=self._note_saved,
            devices=numbered_accelerators(errand.device),
        )
        runs = list(self._left)
        for event in train_batch(runs, engine=job.speed.engine, device=errand.device, files=files):
            self._add(event)

    def _add(self, event: Progress | Trained | Failed | Narrowed) -> None:
        match event:
            case Trained(run, values, provenance, weights):
                here = self._left.pop(run)
                try:
                    self._shared.results.put(here, values, provenance, weights=weights)
                except (TypeError, ValueError) as error:  # a value that no file can hold
                    why = f"{name_of(run)}, has no result to store: {error}"
                    self._report.failed[self._keys[run]] = (why, "")
                else:
                    self._end(self._keys[run])
            case Failed(run, why, details):
                del self._left[run]
                self._report.failed.setdefault(self._keys[run], (why, details))
            case Narrowed(_, width):
                self._report.width = width
            case Progress(runs, step, total):
                self._report.progress = (runs, step, total)
                if time.monotonic() - self._told < SECONDS_BETWEEN_REPORTS:
                    return
        self._tell()

    def _end(self, key: str) -> None:
        self.has_saved = True
        if key not in self._report.trained:
            self._report.trained.append(key)

    def _note_saved(self) -> None:
        self.has_saved = True

    def _tell(self) -> None:
        self._told = time.monotonic()
        try:
            self._shared.write_report(self._batch, self._report)
        except FileNotFoundError:
            raise SystemExit("The batch was cancelled.") from None


class _NodeFiles(StoreFiles):
    """The files of a batch, which tell when something was saved."""

    def __init__(
        self,
        results: Store,
        job: Batch,
        *,
        show: Callable[[Progress], None],
        saved: Callable[[], None],
        devices: Mapping[str, str],
    ) -> None:
        super().__init__(results, job, show=show, devices=devices)
        self._saved = saved

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        super().save_checkpoint(run, payload)
        self._saved()
