"""Trains the runs of one program to their end: schedules, checks, checkpoints, early stopping.

A run's result is decided by its arm, seed, data and code. Nothing here may depend on the runs
that train with it, on when checkpoints are written, or on where training was interrupted.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from repro.arm import Run, Values
from repro.core.device import compute_alike
from repro.core.files import RunFiles
from repro.core.program import ENGINES, Program, RunState, parameters_of
from repro.core.progress import Finished, Progress
from repro.core.randomness import look_at_initialisation, no_global_draws
from repro.core.study import Data, Measures, Study
from repro.core.weights import load_data, to_file
from repro.recipe import Moment

PRODUCTS = {
    "float32": None,
    "tf32": None,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}

CHECK_STEPS = 50
"""Steps between two looks for a loss that is not finite; the step it happened at is still exact."""


@dataclass
class RunLog:
    """The measurements of one run so far, and whether it should stop early."""

    run: Run
    epoch_loss: float = 0.0
    history: dict[str, list[Any]] = field(default_factory=lambda: {"loss": []})
    best: Measures | None = None
    best_value: float = math.inf
    to_beat: float = math.inf
    stale: int = 0

    def close_epoch(self, steps: int) -> None:
        self.history["loss"].append(self.epoch_loss / steps)
        self.epoch_loss = 0.0

    def add(self, measures: Measures, monitor: str | None) -> bool:
        """Take a measurement in; return whether the run should stop early."""
        measures = {name: _plain(value, name) for name, value in measures.items()}
        for name, value in measures.items():
            self.history.setdefault(name, []).append(value)
        recipe = self.run.arm.recipe
        if recipe.patience is None or monitor is None:
            self.best = measures
            return False
        value = measures[monitor]
        assert isinstance(value, float), f"the monitored measure {monitor!r} must be one number"
        if value < self.best_value:
            self.best, self.best_value = measures, value
        if value < self.to_beat:
            self.to_beat, self.stale = value - recipe.least_gain, 0
        else:
            self.stale += 1
        return self.stale > recipe.patience

    def values(self, steps: int) -> Values:
        return {"measures": self.best, "history": self.history, "steps": steps}


def train(
    study: Study,
    runs: Sequence[Run],
    *,
    engine: str,
    device: torch.device,
    files: RunFiles | None = None,
) -> Iterator[tuple[Run, Values]]:
    """Train runs of one program; yields each run with its values as it is done.

    >>> for run, values in train(STUDY, runs, engine="stacked", device=torch.device("cpu")):
    ...     print(run.seed, values["measures"]["accuracy"])
    """
    for event in training(study, runs, engine=engine, device=device, files=files):
        if isinstance(event, Finished):
            yield event.run, event.values


def training(
    study: Study,
    runs: Sequence[Run],
    *,
    engine: str,
    device: torch.device,
    files: RunFiles | None = None,
) -> Iterator[Progress | Finished]:
    """Train runs of one program; yields their progress, and each run as it is done.

    Without `files` a run cannot go on from a checkpoint or start from another run's parameters.
    """
    if engine == "stacked" and not runs[0].arm.stacks_on(device.type):
        raise ValueError(
            f"{runs[0].arm.label} has no stacked form; leave --engine out, or use --engine loop."
        )
    allow_tf32(runs[0].arm.recipe.precision == "tf32")
    compute_alike(device.type)
    data = load_data(study, runs[0].arm, device, files)
    look_at_initialisation(study, runs[0], data, device)
    for step, group in _by_step(runs, files).items():
        for part in [group] if engine == "stacked" else _by_training(group):
            theirs = [run for run, _ in part]
            program = ENGINES[engine](study, theirs, data, device)
            if files is not None and _drop_unfit(part, program, files):
                yield from training(study, theirs, engine=engine, device=device, files=files)
                continue
            on_its_way = _Training(study, program, data, device, step)
            on_its_way.restore([saved for _, saved in part if saved is not None])
            yield from on_its_way.finish(files)


def allow_tf32(allowed: bool) -> None:
    """Let CUDA round the factors of matrix products to 10 bits, or not: torch does in convolutions.

    >>> allow_tf32(False)
    """
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


Saved = tuple[Run, dict[str, Any] | None]
"""A run, and what was saved of it."""


def _by_training(runs: Sequence[Saved]) -> list[list[Saved]]:
    """Group runs by what is trained: those that only measure differently stay together."""
    groups: dict[Run, list[Saved]] = {}
    for run, saved in runs:
        groups.setdefault(run.training, []).append((run, saved))
    return list(groups.values())


def _by_step(runs: Sequence[Run], files: RunFiles | None) -> dict[int, list[Saved]]:
    """Group runs, with what was saved of them, by the step that they go on from."""
    groups: dict[int, list[Saved]] = {}
    for run in runs:
        saved = _load(run, files) if files is not None else None
        groups.setdefault(saved["step"] if saved else 0, []).append((run, saved))
    return groups


def _load(run: Run, files: RunFiles) -> Any:
    """Return what was saved of a run; what cannot be read is dropped, and counts as nothing."""
    payload = files.load_checkpoint(run)
    if payload is None:
        return None
    try:
        saved = torch.load(io.BytesIO(payload), weights_only=True)
        step, state, record = saved["step"], saved["state"], saved["record"]
        is_known = record.keys() == vars(RunLog(run)).keys() - {"run"}
        if isinstance(step, int) and isinstance(state, dict) and is_known:
            return saved
        why = "it is not written as this version writes"
    except Exception as error:  # torch.load raises whatever the bytes lead it to
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
    files.drop_checkpoint(run, why)
    return None


def _drop_unfit(part: Sequence[Saved], program: Program, files: RunFiles) -> bool:
    """Drop what was saved of runs and does not fit their program; return whether any was."""
    states = program.states() if any(saved is not None for _, saved in part) else []
    unfit = [
        run
        for (run, saved), state in zip(part, states, strict=False)
        if saved is not None and not _fits(saved["state"], state)
    ]
    for run in unfit:
        files.drop_checkpoint(run, "its tensors are not those of the model")
    return bool(unfit)


def _fits(saved: RunState, state: RunState) -> bool:
    """Return whether a saved state has all that a state at the start has, in the same shapes.

    It has more where an optimiser keeps moments, which there are none of before the first step.
    """
    return all(name in saved and saved[name].shape == x.shape for name, x in state.items())


def _plain(value: Any, name: str) -> Any:
    """Return a measure as numbers and lists of Python's own, which a checkpoint can be read from.

    >>> _plain(np.float64(0.5), "accuracy")
    0.5
    """
    if hasattr(value, "tolist"):  # of NumPy or torch, whatever its dimensions
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item, name) for item in value]
    if value is None or type(value) in (bool, int, float):
        return value
    raise TypeError(
        f"the measure {name!r} is {value!r}, a {type(value).__name__}; give a number, or a list of"
        " numbers."
    )


class _Training:
    """One program from the step that it goes on from to its end."""

    def __init__(
        self,
        study: Study,
        program: Program,
        data: Data,
        device: torch.device,
        step: int,
    ) -> None:
        self.study, self.program, self.data, self.device = study, program, data, device
        self.recipe = program.runs[0].arm.recipe
        self.logs = [RunLog(run) for run in program.runs]
        self.step = step
        self.epoch = torch.empty(0)  # [R, N, columns]
        self.window: list[Tensor] = []  # losses [R] since the last check
        examples = len(data.epoch(program.runs[0].seed, 0))
        self.per_epoch = examples // self.recipe.batch
        if self.per_epoch == 0:
            raise ValueError(
                f"A batch of {self.recipe.batch} is larger than an epoch of {examples} examples;"
                " give the recipe a smaller batch."
            )
        self.total = self.per_epoch * self.recipe.epochs

    def restore(self, saved: Sequence[dict[str, Any]]) -> None:
        if saved:
            self.program.restore([entry["state"] for entry in saved])
            for log, entry in zip(self.logs, saved, strict=True):
                vars(log).update(entry["record"])

    def finish(self, files: RunFiles | None) -> Iterator[Progress | Finished]:
        if self.total == 0:
            self._measure()
            yield from self._leave(list(range(len(self.logs))))
            return
        self._open_epoch()
        while self.step < self.total and self.logs:
            self._advance()
            ends_epoch = self.step % self.per_epoch == 0
            is_due = files is not None and files.wants_checkpoint()
            if not (ends_epoch or is_due or self.step % CHECK_STEPS == 0):
                continue
            yield from self._drop_diverged()
            if ends_epoch:
                yield from self._close_epoch()
            if is_due and self.logs:
                self._save(files)
            yield Progress(len(self.logs), self.step, self.total)

    def _open_epoch(self) -> None:
        number = self.step // self.per_epoch
        seeds = dict.fromkeys(log.run.seed for log in self.logs)
        lines = {seed: self.data.epoch(seed, number) for seed in seeds}
        self.epoch = torch.stack([lines[log.run.seed] for log in self.logs]).to(self.device)

    def _advance(self) -> None:
        at = (self.step % self.per_epoch) * self.recipe.batch
        batch = self.data.batch(self.epoch[:, at : at + self.recipe.batch])
        moment = Moment(step=self.step, per_epoch=self.per_epoch, total=self.total)
        products = PRODUCTS[self.recipe.precision]
        with (
            no_global_draws(self.program.runs[0].arm, "training", self.device),
            torch.autocast(self.device.type, products, enabled=products is not None),
        ):
            self.window.append(self.program.advance(batch, moment))
        self.step += 1

    def _drop_diverged(self) -> Iterator[Finished]:
        losses = torch.stack(self.window).cpu().double()  # [steps, R]; MPS has no doubles
        first_step = self.step - len(self.window)
        self.window.clear()
        gone = []
        for row, log in enumerate(self.logs):
            column = losses[:, row].tolist()
            bad = next((i for i, loss in enumerate(column) if not math.isfinite(loss)), None)
            if bad is None:
                for loss in column:  # one by one: the sum must not depend on the window's length
                    log.epoch_loss += loss
            else:
                gone.append(row)
                values = {"diverged_at": first_step + bad, "history": log.history}
                yield Finished(log.run, values)
        self._keep_without(gone)

    def _close_epoch(self) -> Iterator[Finished]:
        for log in self.logs:
            log.close_epoch(self.per_epoch)
        done: list[int] = []
        if self.logs and self.recipe.measures(self.step // self.per_epoch - 1):
            done = self._measure()
        if self.step == self.total:
            done = list(range(len(self.logs)))
        yield from self._leave(done)
        if self.logs:
            self._open_epoch()

    def _measure(self) -> list[int]:
        """Measure every run; return the rows that should stop early."""
        with no_global_draws(self.program.runs[0].arm, "measuring", self.device):
            measures = self.program.measure()
        return [
            row
            for row, (log, measured) in enumerate(zip(self.logs, measures, strict=True))
            if log.add(measured, self.study.monitor)
        ]

    def _leave(self, rows: Sequence[int]) -> Iterator[Finished]:
        """Yield the runs of these rows as finished, and go on without them."""
        keeps = bool(rows) and self.logs[0].run.arm.keeps_weights
        states = self.program.states() if keeps else []
        for row in rows:
            weights = to_file(parameters_of(states[row])) if keeps else None
            yield Finished(self.logs[row].run, self.logs[row].values(self.step), weights)
        self._keep_without(rows)

    def _keep_without(self, gone: Sequence[int]) -> None:
        if not gone:
            return
        rows = [row for row in range(len(self.logs)) if row not in gone]
        self.logs = [self.logs[row] for row in rows]
        self.epoch = self.epoch[rows] if len(self.epoch) else self.epoch
        self.program.keep(rows)

    def _save(self, files: RunFiles | None) -> None:
        assert files is not None, "somebody wanted a checkpoint"
        for log, state in zip(self.logs, self.program.states(), strict=True):
            known = {name: value for name, value in vars(log).items() if name != "run"}
            buffer = io.BytesIO()
            torch.save({"step": self.step, "state": _own(state), "record": known}, buffer)
            files.save_checkpoint(log.run, buffer.getvalue())


def _own(state: RunState) -> RunState:
    """Copy tensors without the memory of the stack around them, which a view would save too."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}
