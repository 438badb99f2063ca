"""Trains a batch, wherever it is: in a process of this machine, or on a node of a cluster."""

from __future__ import annotations

import dataclasses
import gc
import io
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from repro.arm import Arm, Run
from repro.code import record
from repro.code.trace import TRACER
from repro.core.device import free_memory, has_torch, one_thread, ran_out_of_memory
from repro.core.progress import Finished, Progress
from repro.imports import import_whole
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy
from repro.own.training_run import Files
from repro.runs.identity import arms_of, identity, name_of
from repro.runs.pool import Batch, Failed, Trained
from repro.runs.provenance import provenance
from repro.store import StoreError, run_key
from repro.studies import study_of
from repro.text import said, said_in_full

_widths: dict[tuple[str, str], int] = {}
"""The runs of a program that memory held where it could not hold more, by program and device."""

LONGEST = 160
"""Characters that are kept of why a program is not stacked."""


def train_here(batch: Batch, *, device: str, files: Files) -> Iterator[Trained | Failed]:
    """Train the runs of a batch that are the same runs in this process; the others fail.

    So other data or versions are noticed. The trace says by which code a run was made.
    """
    runs = []
    for run, asked in batch.runs.items():
        try:
            here = identity(run, device=device, starts_from=asked.get("starts_from"))
        except Exception as error:  # an arm reads its data, and users write arms
            why = f"cannot be trained on the node that it was sent to: {error}"
            yield Failed(run, f"{name_of(run)}, {why}")
            continue
        if run_key(here) == run_key(asked):
            runs.append(run)
        else:
            about = {name: here[name] for name in ("torch", "data")}
            why = (
                "would be another run where it was sent to, whose settings, data or versions are"
                f" not those of the process that asked; there: {about}"
            )
            yield Failed(run, f"{name_of(run)}, {why}")
    if runs:
        yield from train_batch(runs, engine=batch.engine, device=device, files=files)


def train_batch(
    runs: Sequence[Run], *, engine: str, device: str, files: Files, shows: bool = False
) -> Iterator[Trained | Failed]:
    """Train runs of one program together, or in halves where memory cannot hold them all.

    Where they cannot be stacked, they are trained one after another, and their provenance says so.
    Their progress goes to `files`. With `shows` they print on the screen, and a debugger can stop
    them.

    >>> for event in train_batch(batch.runs, engine="stacked", device="cpu", files=files):
    ...     print(event)
    """
    program = runs[0].arm.program, device
    width = _widths.get(program, len(runs))
    if len(runs) > width:  # that did not fit before
        for first in range(0, len(runs), width):
            part = runs[first : first + width]
            yield from train_batch(part, engine=engine, device=device, files=files, shows=shows)
        return
    attempt = _Attempt(runs, engine, device, files, shows)
    yield from attempt.train()
    if attempt.out_of_memory and len(runs) == 1:
        free_memory(device)  # of what trained before, which may have been all that was in the way
        attempt = _Attempt(runs, engine, device, files, shows)
        yield from attempt.train()
    if attempt.not_stacked:
        why = attempt.not_stacked
        attempt = _Attempt(attempt.left, "loop", device, files, shows, why_not_stacked=why)
        yield from attempt.train()
    if not attempt.out_of_memory:
        return
    if len(runs) == 1:
        yield Failed(
            runs[0],
            f"{name_of(runs[0])} does not fit into memory on its own ({attempt.out_of_memory});"
            " free some, or train it on a larger device.",
        )
        return
    free_memory(device)
    _widths[program] = -(-len(runs) // 2)
    if left := attempt.left:
        yield from train_batch(left, engine=engine, device=device, files=files, shows=shows)


def made_again(arm: Arm) -> Arm:
    """Return an arm that is made in this process.

    So the record has what makes it, and no attribute was computed by the session that sent it.
    """
    try:
        made = _made_again(arm)
    except Exception:  # it cannot be made of its settings alone
        return arm
    has_more = signature(type(arm)).parameters.keys() - {each.name for each in fields(arm)}
    return made if made == arm and not has_more else arm


def _made_again(settings: Any) -> Any:
    values = {each.name: getattr(settings, each.name) for each in fields(settings) if each.init}
    parts = {name: _made_again(x) for name, x in values.items() if is_dataclass(x)}
    return dataclasses.replace(settings, **parts)


@dataclass
class _Attempt:
    """Runs that train together, until they are done or cannot go on in this way.

    `out_of_memory` then has the message of the device, and `not_stacked` the reason why no step
    could be stacked. The errors are not kept: they hold the memory of what is unfinished.
    """

    runs: Sequence[Run]
    engine: str
    device: str
    files: Files
    shows: bool = False
    why_not_stacked: str = ""
    """The reason why they train in a loop, where that was not asked for."""
    left: list[Run] = field(init=False)
    out_of_memory: str = field(default="", init=False)
    not_stacked: str = field(default="", init=False)
    _has_begun: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.runs = [Run(made_again(run.arm), run.seed) for run in self.runs]
        self.left = list(self.runs)
        self._began = time.monotonic()

    def train(self) -> Iterator[Trained | Failed]:
        if has_torch() and "torch" not in sys.modules:
            import_whole("torch")
            gc.freeze()  # or each collection looks at all that torch has made
        one_thread()
        printed = Printed()
        try:
            taking = nullcontext if self.shows else printed.taking
            for event in within(self._finished(), taking):
                self.left.remove(event.run)
                with record.unheard():
                    how, made = self._how(event.run), TRACER.trace(arms=arms_of(event.run.arm))
                yield Trained(event.run, event.values, how, event.weights, made)
        except StoreError:  # it is the store that fails, and no run
            raise
        except (Exception, SystemExit) as error:
            why = said_in_full(error)
            if ran_out_of_memory(error):
                self.out_of_memory = said(error) or why
            elif (
                self.engine == "stacked"
                and not self._has_begun
                and self.runs[0].arm.stacks_on(self.device)
            ):
                first = why.partition(". ")[0]
                self.not_stacked = textwrap.shorten(first, LONGEST, placeholder=" …")
            else:
                details = details_of(error, printed.text)
                for run in self.left:
                    text = f"{name_of(run)}, failed to train: {why}"
                    yield Failed(run, text, details, error.__traceback__ if self.shows else None)

    def _finished(self) -> Iterator[Finished]:
        """Yield the runs as they are done, and show the progress of the others."""
        study = study_of(self.runs[0].arm)
        self.files.engine = self.engine
        if isinstance(study, OutsideStudy):
            yield from study.training(self.runs, self.files)
            return
        import torch

        from repro.core.train import training

        device, engine = torch.device(self.device), self.engine
        for event in training(study, self.runs, engine=engine, device=device, files=self.files):
            self._has_begun = True
            if isinstance(event, Progress):
                self.files.show(event)
                continue
            if "loss" in event.values.get("measures", ()):
                raise ValueError(
                    "the study measures a `loss`, which is the name of the training loss in a run's"
                    " history; give the measure another name."
                )
            yield event

    def _how(self, run: Run) -> dict[str, Any]:
        """Return the provenance of a run that is done."""
        width = len(self.runs)
        how = provenance(self.device, (time.monotonic() - self._began) / width, width)
        how["packages"] = {**how["packages"], **TRACER.libraries}
        how["engine"] = self.engine
        if self.why_not_stacked:
            how["not_stacked"] = self.why_not_stacked
        if isinstance(run.arm, OutsideArm):
            how["threads"], how["devices"] = run.arm.threads, run.arm.devices
        return how


T = TypeVar("T")

MOST = 4000
"""Characters that are kept of what was printed, the last ones."""

FRAMES = 12
"""Frames of a traceback that are shown, the innermost ones."""

OURS = str(Path(__file__).parents[1])


def within(events: Iterable[T], context: Callable[[], AbstractContextManager[Any]]) -> Iterator[T]:
    """Yield events, within a context on the way to each of them, and outside of it at each.

    >>> for event in within(training(study, runs), printed.taking):
    ...     print(event)
    """
    coming = iter(events)
    while True:
        with context():
            event = next(coming, None)
        if event is None:
            return
        yield event


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

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Take what is printed within the block, instead of the screen."""
        with redirect_stdout(self), redirect_stderr(self):
            yield


def details_of(error: BaseException, printed: str) -> str:
    """Return the traceback of an error from where it leaves repro, and what was printed before."""
    shortened = traceback.TracebackException.from_exception(error, limit=-FRAMES)
    theirs = [frame for frame in shortened.stack if not frame.filename.startswith(OURS)]
    first = shortened.stack.index(theirs[0]) if theirs else 0
    shortened.stack = traceback.StackSummary.from_list(shortened.stack[first:])
    text = "".join(shortened.format())
    return f"{text}It had printed:\n{printed}" if printed.strip() else text
