"""The way to Slurm of code, data, parameters to start from, and batches as an array of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from repro.backends.files import stored_weights
from repro.backends.slurm.node import NodeJob
from repro.backends.slurm.parts import Part, Waiting, bundles, named_runs
from repro.backends.slurm.queue import SlurmQueue
from repro.backends.slurm.shared import Errand, Note, SharedFolder
from repro.backends.slurm.snapshot import PROJECT, DataByHash, environment_of, snapshot
from repro.runs.jobs import Batch
from repro.store import Store


class Sender:
    """Submits the batches of one session, and knows which of them have not come back."""

    def __init__(
        self,
        store: Store,
        shared: SharedFolder,
        queue: SlurmQueue,
        *,
        device: str,
        project: Path,
        minutes: int,
    ) -> None:
        self._store, self._shared, self._queue = store, shared, queue
        self._device, self._project, self._minutes = device, project, minutes
        self._data = DataByHash(shared.data)
        self._left: dict[str, tuple[str, ...]] = {}

    @property
    def has_sent(self) -> bool:
        """True while something of this session's is in the shared folder."""
        return bool(self._left)

    def lacking(self, each: Waiting) -> str:
        """Return why a job has nothing to start from, in words; empty where it can be submitted."""
        try:
            if each.job.start is not None:
                stored_weights(self._store, each.job.start)
        except ValueError as error:
            return f"failed to train: {error}"
        return ""

    def submit(self, ready: Sequence[Waiting]) -> list[Part]:
        """Submit what can be: one array of jobs for each demand of devices and threads."""
        parts: list[Part] = []
        for demand in sorted({each.demand for each in ready}):
            together = bundles(each for each in ready if each.demand == demand)
            left = [[self._leave(each) for each in bundle] for bundle in together]
            slurm_ids = self._queue.submit(
                [NodeJob(self._shared.root, tuple(ids), minutes=self._minutes) for ids in left],
                demand=demand,
                folder=self._code / PROJECT,
                environment=environment_of(self._code, self._project),
            )
            for bundle, ids, slurm_id in zip(together, left, slurm_ids, strict=True):
                for each, batch in zip(bundle, ids, strict=True):
                    self._shared.write_note(batch, Note(slurm_id, each.names, each.attempt))
                    runs = named_runs(each.job, self._device)
                    parts.append(Part(each, batch, slurm_id, True, runs))
        return parts

    def came_back(self, batch: str) -> None:
        """Take note that nothing more is to come of a batch."""
        self._left.pop(batch, None)

    def forget(self, *, but_submitted: bool) -> None:
        """Take back what has not come back, or only what never came to Slurm."""
        for batch, names in self._left.items():
            if but_submitted and self._shared.note(batch) is not None:
                continue
            for name in names:
                if self._shared.batch_of(name) == batch:
                    self._shared.recall(name)
            self._shared.forget(batch, names)
        self._left.clear()

    @cached_property
    def _code(self) -> Path:
        """The code as it was when the first job was submitted."""
        return snapshot(self._project, self._store.root, self._shared.code)

    def _leave(self, each: Waiting) -> str:
        """Leave a batch in the shared folder, with all that its node will look for."""
        results, start = self._shared.results, each.job.start
        if start is not None and results.at(start.key) is None:
            stored = self._store.at(start.key)
            assert stored is not None
            results.put(stored.identity, stored.values, stored.provenance, weights=stored.weights)
        if isinstance(each.job, Batch):
            for key in each.job.keys:
                kept = self._store.checkpoints.load(key)
                if kept is not None and results.checkpoints.load(key) is None:
                    results.checkpoints.save(key, kept)
        data = self._data.folder_for(each.job.arm)
        batch = self._shared.leave(Errand(each.job, each.names, self._device, data))
        self._left[batch] = each.names
        return batch
