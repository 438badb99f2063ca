"""Trains a batch, wherever it is: in a process of this machine, or on a node of a cluster."""

from __future__ import annotations

import io
import textwrap
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from repro.arm import Run
from repro.backends.opened import Opened
from repro.core.device import free_memory, one_thread, ran_out_of_memory
from repro.core.files import RunFiles
from repro.core.progress import Progress
from repro.imports import import_whole
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy
from repro.own.training_run import TrainingFiles
from repro.runs.identity import name_of, packages_of
from repro.runs.pool import Failed, Narrowed, Trained
from repro.runs.provenance import provenance
from repro.store import StoreError
from repro.studies.find import study_of
from repro.text import said, said_in_full

if TYPE_CHECKING:
    from repro.core.train import Finished

LONGEST = 160
"""Characters that are kept of why a program is not stacked."""


class Files(RunFiles, TrainingFiles, Protocol):
    """The files of a batch's runs, whether they train here or outside."""


def train_batch(
    runs: Sequence[Run],
    *,
    engine: str,
    device: str,
    files: Files,
) -> Iterator[Progress | Trained | Failed | Narrowed]:
    """Train runs of one program together, or in halves where memory cannot hold them all.

    Where they cannot be stacked, they are trained one after another, and their provenance says so.

    >>> for event in train_batch(batch.runs, engine="stacked", device="cpu", files=files):
    ...     print(event)
    """
    together = _Together(runs, engine, device, files)
    yield from together.train()
    if together.shortage and len(runs) == 1:
        free_memory(device)  # of what trained before, which may have been all that was in the way
        together = _Together(runs, engine, device, files)
        yield from together.train()
    if together.not_stacked:
        why, left = together.not_stacked, together.left
        together = _Together(left, "loop", device, files, stacking_failed=why)
        yield from together.train()
    if not together.shortage:
        return
    if len(runs) == 1:
        yield Failed(
            runs[0],
            f"{name_of(runs[0])} does not fit into memory on its own ({together.shortage}); free"
            " some, or train it on a larger device.",
        )
        return
    free_memory(device)
    half = -(-len(runs) // 2)
    yield Narrowed(runs[0].arm.program, half)
    for first in range(0, len(together.left), half):
        yield from train_batch(
            together.left[first : first + half],
            engine=engine,
            device=device,
            files=files,
        )


class _Together:
    """Runs that train together, until they are done or cannot go on in this way.

    `shortage` then has the words of a device that is full, and `not_stacked` the reason why not one
    step could be stacked. The errors are not kept: they hold the memory of what is unfinished.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        engine: str,
        device: str,
        files: Files,
        *,
        stacking_failed: str = "",
    ) -> None:
        self.runs, self.left = runs, list(runs)
        self.shortage = self.not_stacked = ""
        self._engine, self._device, self._files = engine, device, files
        self._stacking_failed = stacking_failed
        self._opened: Opened | None = None
        self._began = time.monotonic()

    def train(self) -> Iterator[Progress | Trained | Failed]:
        import_whole("torch")
        from repro.core.train import Finished

        one_thread()
        printed, has_begun = Printed(), False
        try:
            for event in printing_into(printed, self._events()):
                has_begun = True
                if isinstance(event, Finished):
                    self.left.remove(event.run)
                    yield Trained(event.run, event.values, self._how(event.run), event.weights)
                else:
                    yield event
        except StoreError:  # it is the store that fails, and no run
            raise
        except (Exception, SystemExit) as error:
            why = said_in_full(error)
            if ran_out_of_memory(error):
                self.shortage = said(error) or why
            elif (
                self._engine == "stacked"
                and self.runs[0].arm.stacks_on(self._device)
                and not has_begun
            ):
                first = why.partition(". ")[0]
                self.not_stacked = textwrap.shorten(first, LONGEST, placeholder=" …")
            else:
                details = details_of(error, printed.text)
                for run in self.left:
                    yield Failed(run, f"{name_of(run)}, failed to train: {why}", details)

    def _events(self) -> Iterator[Progress | Finished]:
        import torch

        from repro.core.train import training

        study, files = study_of(self.runs[0].arm), self._files
        outside = study if isinstance(study, OutsideStudy) else None
        kept = [files.folder(run) for run in self.runs if outside is not None]
        self._opened = Opened(self.runs[0].arm, but=kept)
        if outside is not None:
            yield from self._opened.during(outside.training(self.runs, files))
            return
        events = training(
            study,
            self.runs,
            engine=self._engine,
            device=torch.device(self._device),
            files=_OfEngine(self._engine, files),
        )
        yield from self._opened.during(events)

    def _how(self, run: Run) -> dict[str, Any]:
        """Return the provenance of a run that is done."""
        company = len(self.runs)
        how = provenance(self._device, (time.monotonic() - self._began) / company, company)
        how["packages"] = {**how["packages"], **packages_of(run.arm)}
        how["engine"] = self._engine
        if self._stacking_failed:
            how["not_stacked"] = self._stacking_failed
        if isinstance(run.arm, OutsideArm):
            how["threads"], how["devices"] = run.arm.threads, run.arm.devices
        if self._opened is not None and self._opened.unnamed:
            how["opened"] = self._opened.unnamed
        return how


class _OfEngine:
    """Files whose checkpoints are marked by their engine: no other one can go on from them."""

    def __init__(self, engine: str, files: Files) -> None:
        self._mark, self._files = f"{engine}:".encode(), files
        self.drop_checkpoint, self.load_weights = files.drop_checkpoint, files.load_weights
        self.wants_checkpoint = files.wants_checkpoint

    def load_checkpoint(self, run: Run) -> bytes | None:
        saved = self._files.load_checkpoint(run)
        return saved.removeprefix(self._mark) if saved and saved.startswith(self._mark) else None

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        self._files.save_checkpoint(run, self._mark + payload)


T = TypeVar("T")

MOST = 4000
"""Characters that are kept of what was printed, the last ones."""

FRAMES = 12
"""Frames of a traceback that are shown, the innermost ones."""

OURS = str(Path(__file__).parents[1])


class Printed(io.TextIOBase):
    """A file that keeps the end of what is written to it.

    >>> printed = Printed()
    >>> print("epoch 1", file=printed)
    >>> printed.text
    'epoch 1\\n'
    """

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text = (self.text + text)[-MOST:]
        return len(text)


def printing_into(printed: Printed, events: Iterable[T]) -> Iterator[T]:
    """Yield events; what is printed on the way to each goes into a file and not on the screen."""
    coming = iter(events)
    while True:
        with redirect_stdout(printed), redirect_stderr(printed):
            event = next(coming, None)
        if event is None:
            return
        yield event


def details_of(error: BaseException, printed: str) -> str:
    """Return the traceback of an error from where it leaves repro, and what was printed before."""
    told = traceback.TracebackException.from_exception(error, limit=-FRAMES)
    theirs = [frame for frame in told.stack if not frame.filename.startswith(OURS)]
    first = told.stack.index(theirs[0]) if theirs else 0
    told.stack = traceback.StackSummary.from_list(told.stack[first:])
    text = "".join(told.format())
    return f"{text}It had printed:\n{printed}" if printed.strip() else text
