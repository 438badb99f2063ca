"""Trains runs again, here and as another processor would round, without touching any store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from repro.arm import Run, Values
from repro.backends.files import FilesWithoutCheckpoints
from repro.backends.trainer import train_batch
from repro.environment import environment_with
from repro.runs.identity import name_of
from repro.runs.pool import Failed, Trained

OTHER_ROUNDING = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
}
"""Settings by which torch and its libraries compute as on a processor without vector units.

They add up in another order then, as other processors do."""


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


class Elsewhere:
    """Trains runs in another process, which rounds as another processor does.

    >>> with elsewhere({run: "loop"}, device="cpu") as other:
    ...     other.values(run)
    """

    def __init__(self, pool: ProcessPoolExecutor, settings: Mapping[str, str]) -> None:
        self._pool, self._settings = pool, settings

    def values(self, run: Run) -> Values:
        """Train a run there; return its values. Raises `NotTrained`."""
        try:
            with environment_with(self._settings):  # the process starts with the first run
                return self._pool.submit(_train, run).result()
        except BrokenProcessPool as error:
            raise NotTrained(f"{name_of(run)}, ended the process that trained it again") from error


@contextmanager
def elsewhere(
    engines: Mapping[Run, str], *, device: str, settings: Mapping[str, str] = OTHER_ROUNDING
) -> Iterator[Elsewhere]:
    """Yield the trainer of another process, and end that process.

    `settings` are the environment variables that make it round differently.
    """
    pool = ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=_begin, initargs=(engines, device)
    )
    with pool:
        yield Elsewhere(pool, settings)


_there: list[Again] = []
"""The trainer of this process, where it is the other one."""


def _begin(engines: Mapping[Run, str], device: str) -> None:
    _there.append(Again(engines, device=device))


def _train(run: Run) -> Values:
    return _there[0].values(run)
