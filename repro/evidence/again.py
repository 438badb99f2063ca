"""Trains single runs again, without touching any store."""

from __future__ import annotations

import json
from collections.abc import Mapping

from repro.arm import Run, Values
from repro.backends.files import FilesWithoutCheckpoints
from repro.backends.trainer import train_batch
from repro.runs.identity import name_of
from repro.runs.pool import Failed, Trained


class NotTrained(Exception):
    """A run could not be trained again; says why."""


class Again(FilesWithoutCheckpoints):
    """Trains single runs, and first the runs that these start from.

    `engines` has the engine of each run, and of those that they start from.
    """

    def __init__(self, engines: Mapping[Run, str], *, device: str) -> None:
        super().__init__()
        self._engines, self._device = engines, device
        self._weights: dict[Run, bytes | None] = {}

    def values(self, run: Run) -> Values:
        """Train a run; return its values as a file would have them. Raises `NotTrained`.

        >>> Again({run: "loop"}, device="cpu").values(run)["steps"]
        """
        start = run.arm.starts_from
        if start is not None and start not in self._weights:
            self.values(start)
        engine = self._engines[run]
        for event in train_batch([run], engine=engine, device=self._device, files=self):
            if isinstance(event, Failed):
                raise NotTrained(event.why)
            if isinstance(event, Trained):
                if run.arm.keeps_weights:
                    self._weights[run] = event.weights
                values: Values = json.loads(json.dumps(event.values))
                return values
        raise NotTrained(f"{name_of(run)}, gave nothing when it was trained")

    def load_weights(self, run: Run) -> bytes:
        weights = self._weights[run]
        if weights is None:
            raise ValueError(f"{name_of(run)}, which this starts from, diverged")
        return weights
