"""The optimiser, schedule and stopping rule of an arm, as plain numbers without torch."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

Stages = tuple[tuple[int, float], ...]
"""A number that changes with the epoch: pairs (first epoch from 0, number), in order."""


@dataclass(frozen=True)
class Moment:
    """A step of training and its place in the run, for schedules.

    >>> Moment(step=30, per_epoch=25, total=100).epoch
    1
    """

    step: int
    """Steps taken before this one."""
    per_epoch: int
    """Steps of an epoch."""
    total: int
    """Steps of the whole run."""

    @property
    def epoch(self) -> int:
        """The epoch of the step, counted from 0."""
        return self.step // self.per_epoch


Optimiser = Literal["adamw", "adam", "sgd"]
Schedule = Literal["constant", "cosine", "linear", "step", "onecycle"]
Precision = Literal["float32", "tf32", "bfloat16", "float16"]

_CHOICES = {
    "optimiser": get_args(Optimiser),
    "schedule": get_args(Schedule),
    "precision": get_args(Precision),
}
_WHOLE = {
    "epochs": 0, "batch": 1, "warmup": 0, "measure_every": 1, "patience": 0, "drop_every": 1,
}  # fmt: skip
"""The settings that are whole numbers, with their smallest allowed value."""

WARM, DIVIDED, FINALLY = 0.3, 25.0, 1e4
"""The defaults `pct_start`, `div_factor` and `final_div_factor` of torch's `OneCycleLR`: the share
of steps with a rising rate, highest rate / first rate, and first rate / last rate."""


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _is_norm(value: object) -> bool:
    return _is_number(value) and value > 0  # type: ignore[operator]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Optimiser, schedule and stopping rule of a run.

    >>> RECIPE = Recipe(epochs=100, batch=128, lr=1e-3, weight_decay=0.01, schedule="cosine")
    >>> RECIPE = Recipe(
    ...     epochs=10, batch=64, lr=0.1, optimiser="sgd", momentum=0.9, nesterov=True,
    ...     schedule="onecycle",
    ... )
    """

    PER_RUN: ClassVar[frozenset[str]] = frozenset(
        {"lr", "weight_decay", "clip", "warmup", "patience", "least_gain"}
    )
    """Names of the numbers that may differ between runs trained as one program."""

    epochs: int
    batch: int
    lr: float
    optimiser: Optimiser = "adamw"
    weight_decay: float = 0.0
    schedule: Schedule = "constant"
    warmup: int = 0
    """Number of steps over which the learning rate rises linearly from zero."""
    clip: float | Stages | None = None
    """The largest gradient norm over all parameters of one run; None does not limit it.

    A tuple gives a norm for each stage: ((0, 0.5), (10, 1.0)) is 0.5 in the first ten epochs and
    1.0 later."""
    measure_every: int = 1
    """Epochs between two measurements; the last epoch is always measured."""
    patience: int | None = None
    """The allowed number of measurements in a row without a better monitored value.

    The next such measurement stops the run; None never stops it."""
    least_gain: float = 0.0
    """A monitored value is better only if it is below the best one by more than this."""
    precision: Precision = "float32"
    """The type of matrix products; `float16` also scales the loss to keep small gradients.

    With `tf32` an NVIDIA card rounds factors to 10 bits; on other devices it is float32."""
    momentum: float = 0.0
    """The momentum of SGD."""
    nesterov: bool = False
    """True for Nesterov's momentum."""
    drop_every: int = 30
    """Epochs between two drops of a step schedule."""
    drop_to: float = 0.1
    """The factor by which a step schedule drops the rate."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                listed = ", ".join(map(repr, choices))
                raise self._refused(name, f"choose one of {listed}")
        for name, least in _WHOLE.items():
            value = getattr(self, name)
            is_unset = name == "patience" and value is None
            if not (is_unset or (type(value) is int and value >= least)):
                raise self._refused(name, f"give a whole number of at least {least}")
        for name in ("weight_decay", "least_gain"):
            if not (_is_number(getattr(self, name)) and getattr(self, name) >= 0):
                raise self._refused(name, "give a number of at least 0")
        if not (_is_number(self.lr) and self.lr > 0):
            raise self._refused("lr", "give a positive number")
        if isinstance(self.clip, tuple):
            starts = [start for start, _ in self.clip]
            are_stages = starts[:1] == [0] and starts == sorted(set(starts))
            if not (are_stages and all(_is_norm(norm) for _, norm in self.clip)):
                raise self._refused("clip", "give positive norms with their first epochs")
        elif not (self.clip is None or _is_norm(self.clip)):
            raise self._refused("clip", "give a positive norm, or None")

        if not (_is_number(self.momentum) and 0 <= self.momentum < 1):
            raise self._refused("momentum", "give a number from 0 to below 1")
        if type(self.nesterov) is not bool or (self.nesterov and not self.momentum):
            raise self._refused("nesterov", "give True only with a momentum, or False")
        if self.momentum and self.optimiser != "sgd":
            raise self._refused("momentum", 'give one only with optimiser="sgd"')
        if not (_is_number(self.drop_to) and 0 < self.drop_to < 1):
            raise self._refused("drop_to", "give a number between 0 and 1")
        if self.schedule in ("step", "onecycle") and self.warmup:
            raise self._refused("warmup", f'give 0 with schedule="{self.schedule}"')

    def _refused(self, name: str, instead: str) -> ValueError:
        return ValueError(f"Recipe: {name} is {getattr(self, name)!r}; {instead}.")

    def but(self, **changes: Any) -> Recipe:
        """Return the same recipe with some numbers changed.

        >>> Recipe(epochs=100, batch=128, lr=1e-3).but(lr=3e-4).lr
        0.0003
        """
        return dataclasses.replace(self, **changes)

    def lr_factor(self, step: int, total: int) -> float:
        """Return the factor of the learning rate at a step (counted from 0) of `total`."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.schedule == "constant":
            return 1.0
        if self.schedule == "onecycle":
            return _one_cycle(step, total)
        if self.schedule == "step":
            return float(self.drop_to ** (step // (max(1, total // self.epochs) * self.drop_every)))
        progress = (step - self.warmup) / max(1, total - self.warmup)
        if self.schedule == "linear":
            return 1.0 - progress
        return 0.5 * (1.0 + math.cos(math.pi * progress))

    def clip_at(self, epoch: int) -> float | None:
        """Return the largest gradient norm in an epoch, counted from 0.

        >>> Recipe(epochs=50, batch=8, lr=1e-3, clip=((0, 0.5), (10, 1.0))).clip_at(10)
        1.0
        """
        if not isinstance(self.clip, tuple):
            return self.clip
        return [norm for start, norm in self.clip if start <= epoch][-1]

    def measures(self, epoch: int) -> bool:
        """Return True if the end of this epoch (counted from 0) is measured."""
        return (epoch + 1) % self.measure_every == 0 or epoch + 1 == self.epochs


def _one_cycle(step: int, total: int) -> float:
    """Return the factor of torch's `OneCycleLR`: up and down again by half a cosine each."""
    top, end = WARM * total - 1.0, total - 1.0
    if step <= top:
        return _between(1 / DIVIDED, 1.0, step / top)
    return _between(1.0, 1 / DIVIDED / FINALLY, (step - top) / (end - top))


def _between(first: float, last: float, share: float) -> float:
    return last + (first - last) / 2.0 * (1.0 + math.cos(math.pi * share))
