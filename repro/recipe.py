"""The optimiser, schedule and stopping rule of an arm, as plain numbers without torch."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Stages = tuple[tuple[int, float], ...]
"""A number that changes with the epoch: (first epoch counted from 0, number), in order."""


@dataclass(frozen=True)
class Moment:
    """A moment of training, which schedules depend on.

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
        """The epoch that the step belongs to, counted from 0."""
        return self.step // self.per_epoch


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Optimiser, schedule and stopping rule of a run.

    >>> Recipe(epochs=100, batch=128, lr=1e-3, weight_decay=0.01, schedule="cosine")
    """

    PER_RUN: ClassVar[frozenset[str]] = frozenset(
        {"lr", "weight_decay", "clip", "warmup", "patience", "least_gain"}
    )
    """Names of the numbers that may differ between runs trained as one program."""

    epochs: int
    batch: int
    lr: float
    optimiser: Literal["adamw", "adam"] = "adamw"
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = 0
    """Number of steps over which the learning rate rises linearly from zero."""
    clip: float | Stages | None = None
    """The largest gradient norm over all parameters of one run; None does not limit it.

    A tuple gives one for each stage of training: ((0, 0.5), (10, 1.0)) is 0.5 in the first ten
    epochs and 1.0 after."""
    measure_every: int = 1
    """Epochs between two measurements; the last epoch is always measured."""
    patience: int | None = None
    """Number of measurements in a row without a better monitored value that a run may have.

    The next such measurement stops it; None never stops it."""
    least_gain: float = 0.0
    """The amount by which a monitored value must be below the last better one to be better."""
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """The type of matrix products; `float16` also scales the loss to keep small gradients."""

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("batch", 1), ("warmup", 0), ("measure_every", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"Recipe: {name} is {getattr(self, name)}; give at least {least}.")
        if not self.lr > 0:
            raise ValueError(f"Recipe: lr is {self.lr}; give a positive learning rate.")
        if self.least_gain < 0:
            raise ValueError(f"Recipe: least_gain is {self.least_gain}; give 0 or more.")
        if isinstance(self.clip, tuple):
            starts = [start for start, _ in self.clip]
            if (
                starts[:1] != [0]
                or starts != sorted(set(starts))
                or min(norm for _, norm in self.clip) <= 0
            ):
                raise ValueError(
                    f"Recipe: clip is {self.clip}; give positive norms with the epochs that they"
                    " start at, from 0 upwards."
                )
        elif self.clip is not None and not self.clip > 0:
            raise ValueError(f"Recipe: clip is {self.clip}; give a positive norm, or None.")

    def but(self, **changes: Any) -> Recipe:
        """Return the same recipe with some numbers changed."""
        return dataclasses.replace(self, **changes)

    def lr_factor(self, step: int, total: int) -> float:
        """Return the factor of the learning rate at a step (counted from 0) of `total`."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.schedule == "constant":
            return 1.0
        progress = (step - self.warmup) / max(1, total - self.warmup)
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
