"""The folder through which sessions and nodes speak: each file is written beside, and renamed.

`batches/ID` has what one batch is, which job of Slurm has it, and what its node reports.
`sent/NAME` says in which batch a run is: a session that finds one there waits for it, whoever
submitted it. `results` is a store of its own, with the checkpoints of runs on their way. Sessions
unpickle nothing that they find here.
"""

from __future__ import annotations

import json
import pickle
import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from repro.core.progress import Progress
from repro.core.speed import Speed
from repro.files import remove, write_beside
from repro.runs.jobs import Job
from repro.store import Store
from repro.store.errors import warn


@dataclass(frozen=True)
class Errand:
    """A job as a node is given it: it holds no locks there."""

    job: Job
    names: tuple[str, ...]
    """The keys of its runs, or the name of a timing."""

    device: str
    data: Path
    """The folder of real data sets, laid out for its runs."""


@dataclass(frozen=True)
class Note:
    """The job of Slurm that has a batch, and the number of times that the batch was submitted."""

    slurm_id: str
    names: tuple[str, ...]
    attempt: int


@dataclass
class Report:
    """The report of a node on a batch so far."""

    trained: list[str] = field(default_factory=list)
    """The keys whose results are there."""

    failed: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Why runs could not be trained, and the details, by key."""

    progress: tuple[int, int, int] | None = None
    width: int | None = None
    """The number of runs that memory held at once, where it did not hold all."""

    speed: dict[str, Any] | None = None
    is_over: bool = False

    def speed_told(self) -> Speed | None:
        """Return the speed of a program that was timed."""
        return None if self.speed is None else Speed(**self.speed)

    def progress_told(self) -> Progress | None:
        """Return how far the runs are."""
        return None if self.progress is None else Progress(*self.progress)


class SharedFolder:
    """The files of a store's batches, for sessions and for nodes.

    >>> shared = SharedFolder(Path("/shared/of-a-store"))
    >>> batch = shared.leave(errand)
    >>> shared.report(batch).trained
    []
    """

    def __init__(self, root: Path, *, report: Callable[[str], None] = warn) -> None:
        self.root, self._warn = root, report
        self.logs, self.code, self.data = root / "logs", root / "code", root / "data"
        self._batches, self._sent = root / "batches", root / "sent"

    @cached_property
    def results(self) -> Store:
        """The results and the checkpoints of runs on their way."""
        return Store(self.root / "results", report=self._warn)

    def make(self) -> None:
        """Make the folders."""
        for folder in (self.logs, self._batches, self._sent):
            folder.mkdir(parents=True, exist_ok=True)

    def leave(self, errand: Errand) -> str:
        """Leave a batch for a node, and word of where its runs are; return its name."""
        batch = secrets.token_hex(8)
        (self._batches / batch).mkdir()
        write_beside(self._batches / batch / "errand", pickle.dumps(errand))
        for name in errand.names:
            write_beside(self._sent / name, batch)
        return batch

    def errand(self, batch: str) -> Errand:
        """Return a batch that this user left; it is unpickled."""
        errand: Errand = pickle.loads((self._batches / batch / "errand").read_bytes())
        return errand

    def write_note(self, batch: str, note: Note) -> None:
        """Write down which job of Slurm has a batch."""
        write_beside(self._batches / batch / "note.json", json.dumps(asdict(note)))

    def note(self, batch: str) -> Note | None:
        """Return which job of Slurm has a batch; None where it never came to that."""
        try:
            said = json.loads((self._batches / batch / "note.json").read_text())
            return Note(said["slurm_id"], tuple(said["names"]), said["attempt"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write_report(self, batch: str, report: Report) -> None:
        """Leave a report in place of the last one; raises OSError where the batch was cancelled."""
        write_beside(self._batches / batch / "report.json", json.dumps(asdict(report)))

    def report(self, batch: str) -> Report:
        """Return the last report of a batch; an empty one where there is none."""
        try:
            return Report(**json.loads((self._batches / batch / "report.json").read_text()))
        except (OSError, ValueError, TypeError):
            return Report()

    def batch_of(self, name: str) -> str | None:
        """Return the batch that a run or a timing is in; None where it is in none."""
        try:
            return (self._sent / name).read_text()
        except OSError:
            return None

    def recall(self, name: str) -> None:
        """Take a run out of its batch: it has come back, or is given up."""
        remove(self._sent / name)

    def forget(self, batch: str, names: Iterable[str]) -> None:
        """Remove a batch that none of these names is in any more."""
        if all(self.batch_of(name) != batch for name in names):
            remove(self._batches / batch)


def root_for(store: Store, folder: Path | None) -> Path:
    """Return the folder that nodes and sessions share for a store.

    In a folder that was named there is one for each store, called by a word that the store keeps.
    """
    if folder is None:
        return store.root / "slurm"
    mark = store.root / "slurm-name"
    with store.locks.lock(mark.name):  # two sessions that begin must not give it two names
        if not mark.exists():
            write_beside(mark, secrets.token_hex(8))
    return folder.absolute() / mark.read_text()
