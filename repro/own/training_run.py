"""The interface between repro and a user's training: the run, its files, and its measures.

Reported epochs are written at once. So a training that resumes from the files in its folder has its
whole curve at the end.
"""

from __future__ import annotations

import json
import math
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro.arm import Arm, Run
from repro.core.progress import Progress
from repro.files import remove, write_beside

if TYPE_CHECKING:
    from repro.core.study import Measures

FILES, EPOCHS = "files", "epochs.json"
"""The names in a run's folder of the folder for the user's files, and of reported epochs."""


class Files:
    """The files of runs in training, and the devices that the runs hold.

    They are temporary: without checkpoints, an interrupted run starts again. For runs that the core
    trains, this is `repro.core.files.RunFiles`.
    """

    devices: Mapping[str, str]
    """The accelerators: torch's names, and those in `CUDA_VISIBLE_DEVICES` of commands."""

    root: Path
    """The folder of all files."""

    engine = ""
    """The engine that trains at the moment; only this one can use its checkpoints."""

    def __init__(
        self, devices: Mapping[str, str] | None = None, *, weights: bytes | None = None
    ) -> None:
        self.devices, self._starts_from = devices or {}, weights
        self.root = Path(tempfile.mkdtemp(prefix="repro-run-"))
        weakref.finalize(self, remove, self.root)
        self._folders: dict[Run, Path] = {}

    def folder(self, run: Run) -> Path:
        """Return the folder of an unfinished run; an interruption leaves it unchanged."""
        if run not in self._folders:
            self._folders[run] = self.root / str(len(self._folders))
            self._folders[run].mkdir()
        return self._folders[run]

    def show(self, progress: Progress) -> None:
        """Show the progress of a run, before its function returns."""

    def wants_checkpoint(self) -> bool:
        return False

    def load_checkpoint(self, run: Run) -> bytes | None:
        return None

    def save_checkpoint(self, run: Run, payload: bytes) -> None:
        """Keep nothing."""

    def drop_checkpoint(self, run: Run, why: str) -> None:
        """Keep nothing."""

    def load_weights(self, run: Run) -> bytes:
        assert self._starts_from is not None, "these files have no parameters to start from"
        return self._starts_from


class TrainingRun:
    """One run while it trains, as the third argument of `train(arm, seed, run)`.

    >>> def train(arm, seed, run):
    ...     saved = run.folder / "model.pt"
    ...     model, begun = load(saved) if saved.exists() else (new(arm), 0)
    ...     for number in range(begun + 1, arm.epochs + 1):
    ...         loss = one_epoch(model)
    ...         save(model, number, saved)
    ...         run.epoch(number, loss=loss, accuracy=accuracy(model))
    ...     return {"accuracy": accuracy(model)}
    """

    def __init__(self, run: Run, files: Files) -> None:
        self._arm, self._files = run.arm, files
        self._root = files.folder(run)
        self._was_left: list[dict[str, Any]] = self._read()
        self._known: list[dict[str, Any]] | None = None
        self._may_resume = False

    @property
    def threads(self) -> int:
        """The number of threads to use, from its arm; torch and OpenMP are told."""
        return int(getattr(self._arm, "threads", 1))

    @property
    def devices(self) -> list[str]:
        """The names of its devices in torch; on a CPU `cpu`, repeated for the number of devices.

        Commands that it starts see only these devices, counted from 0.
        """
        return list(self._files.devices) or ["cpu"] * int(getattr(self._arm, "devices", 1))

    @property
    def visible(self) -> str | None:
        """The `CUDA_VISIBLE_DEVICES` of commands that it starts; None without CUDA."""
        names = [name for kind, name in self._files.devices.items() if kind.startswith("cuda")]
        return ",".join(names) or None

    @property
    def folder(self) -> Path:
        """The run's own folder, which an interruption leaves unchanged; removed after the run.

        A training resumes from its files here.
        """
        folder = self._root / FILES
        folder.mkdir(exist_ok=True)
        if self._known is None:
            self._may_resume |= any(folder.iterdir())
        return folder

    def epoch(self, number: int | None = None, /, **measures: float | Sequence[float]) -> None:
        """Report the measures after an epoch, for curves, progress and the remaining time.

        Without a number, epochs count from 1. A training that resumes from its folder gives the
        number; earlier epochs are kept.

        >>> run.epoch(loss=0.3, accuracy=0.9)
        >>> run.epoch(7, loss=0.2, accuracy=0.91)
        """
        epochs = len(self._arm.epochs_known(measured=True))
        known = self._before(number)
        if len(known) >= epochs:
            kind = type(self._arm).__name__
            has = f"{epochs} by its setting `epochs`" if epochs else "no setting `epochs`"
            raise ValueError(
                f"run.epoch reports epoch {len(known) + 1}, and {kind} has {has}; give {kind} a"
                " setting `epochs: int`, the number of epochs that it reports."
            )
        kept = {n: number_or_list(n, x, said="run.epoch got") for n, x in measures.items()}
        if known and known[0].keys() != kept.keys():
            raise ValueError(
                f"run.epoch got {sorted(kept)} in epoch {len(known) + 1}, and"
                f" {sorted(known[0])} before; report the same measures after every epoch."
            )
        self._known = [*known, kept]
        write_beside(self._root / EPOCHS, json.dumps(self._known))
        self._files.show(Progress(1, len(self._known), epochs))

    def log(self, text: str) -> None:
        """Print a line; printed lines are shown if the run fails.

        >>> run.log(f"warm-up ends at step {step}")
        """
        print(text)

    @property
    def history(self) -> dict[str, list[Any]]:
        """Return the values that were reported of each epoch, by name."""
        known = self._known
        if known is None:  # an earlier attempt was interrupted after its last epoch
            known = self._was_left if self._may_resume else []
        return {name: [each[name] for each in known] for name in (known[0] if known else ())}

    def _before(self, number: int | None) -> list[dict[str, Any]]:
        """Return the reported measures of the epochs before this one."""
        if number is None and self._known is None and self._may_resume and self._was_left:
            raise ValueError(
                f"run.epoch reported {len(self._was_left)} epochs before an interruption, and got"
                " no number now; a training that resumes from run.folder gives the number of the"
                " epoch, counted from 1: run.epoch(number, accuracy=…)."
            )
        known = self._known
        if known is None:
            known = self._was_left if number is not None else []
        index = len(known) if number is None else number - 1
        if not 0 <= index <= len(known):
            raise ValueError(
                f"run.epoch got epoch {number} after epoch {len(known)}; report each epoch, counted"
                " from 1."
            )
        return known[:index]

    def _read(self) -> list[dict[str, Any]]:
        """Return the epochs reported before an interruption; none if they cannot be read."""
        with suppress(OSError, ValueError, TypeError, AttributeError):
            known = json.loads((self._root / EPOCHS).read_text())
            return [dict(each.items()) for each in known]
        return []


def checked(arm: Arm, measured: Any, *, by: str) -> Measures:
    """Return measures as plain numbers; raise if one is missing or not finite.

    >>> checked(SPIRAL, {"accuracy": torch.tensor(0.5)}, by="measure(module, arm)")
    {'accuracy': 0.5}
    """
    kind = type(arm).__name__
    if not isinstance(measured, Mapping):
        raise TypeError(
            f"{by} returned {type(measured).__name__}; return numbers by name, such as"
            f" {{{_first(arm)!r}: 0.5}}."
        )
    missing = sorted(set(arm.metrics) - set(measured))
    if missing:
        raise ValueError(
            f"{by} returned {sorted(measured)}, but {kind}.metrics also declares {missing}; return"
            " each declared metric, or declare the returned ones."
        )
    numbers: Measures = {}
    for name, value in measured.items():
        numbers[name] = number_or_list(name, value, said=f"{by} returned")
        metric = arm.metrics.get(name)
        if metric is not None and isinstance(numbers[name], list) != metric.listed:
            one, many = "one number a metric", "a list of numbers"
            raise TypeError(
                f"{by} returned {name}={value!r}, and {kind}.metrics declares {name} with"
                f" listed={metric.listed}; return {many if metric.listed else one}."
            )
    return numbers


def number_or_list(name: str, value: Any, *, said: str) -> float | list[float]:
    """Return a measure as a plain number, or as a list of plain numbers; else raise.

    >>> number_or_list("gains", [1, 2.5], said="train(arm, seed) returned")
    [1.0, 2.5]
    """
    if hasattr(value, "tolist"):  # of NumPy or torch, whatever its dimensions
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_number(f"{name}[{i}]", each, said) for i, each in enumerate(value)]
    return _number(name, value, said)


def _number(name: str, value: Any, said: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{said} {name}={value!r}, which is no number; give one number a metric, or a"
            " list of numbers for one that is listed."
        ) from error
    if not math.isfinite(number):
        raise ValueError(
            f"{said} {name}={number}, which cannot be compared; give a finite number,"
            " such as the loss that the perplexity overflowed from, or raise Diverged(step) where"
            " the run diverged."
        )
    return number


def _first(arm: Arm) -> str:
    return next(iter(arm.metrics), "accuracy")
