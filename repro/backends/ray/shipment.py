"""Jobs as they are sent to the nodes of a cluster: packed here, opened there."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ray

from repro.backends.code_files import paths
from repro.backends.files import stored_weights
from repro.backends.ray.data_files import DataFiles, Uploader, lay_out
from repro.runs.jobs import Job, Start, Timing
from repro.store import Store


class SentWeights(NamedTuple):
    """The key of the run that others start from, and where its parameters are in the cluster."""

    key: str
    content: Any


@dataclass(frozen=True)
class Shipment:
    """The runs or arms of a job, and what a node needs for them.

    They are pickled by us, not by Ray, which would look for their modules before `paths` are there.
    """

    content: bytes
    paths: tuple[str, ...]
    """Folders below the working copy in which modules are."""

    device: str
    data: DataFiles
    start: SentWeights | None

    def open(self) -> Any:
        """Return the runs or arms; from now on this process is prepared to train them."""
        here = Path.cwd()  # where Ray has unpacked the working copy
        for path in reversed([str(here / place) for place in self.paths]):
            if path not in sys.path:
                sys.path.insert(0, path)
        lay_out(self.data)
        return pickle.loads(self.content)


class Shipments:
    """Packs jobs; what several of them need is put into the cluster once."""

    def __init__(self, store: Store, project: Path, device: str) -> None:
        self._store, self._paths, self._device = store, paths(project), device
        self._uploader = Uploader()
        self._weights: dict[str, SentWeights] = {}

    def pack(self, job: Job) -> Shipment:
        """Return a job as it is sent; raises ValueError where there is nothing to start from."""
        content = list(job.arms if isinstance(job, Timing) else job.runs)
        return Shipment(
            pickle.dumps(content),
            self._paths,
            self._device,
            self._uploader.files_of(job.arm),
            None if job.start is None else self._sent(job.start),
        )

    def _sent(self, start: Start) -> SentWeights:
        if start.key not in self._weights:
            content = ray.put(stored_weights(self._store, start))
            self._weights[start.key] = SentWeights(start.key, content)
        return self._weights[start.key]
