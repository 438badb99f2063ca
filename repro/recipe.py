"""How an arm is optimised: plain numbers, so that arms can be read without importing torch."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Optimiser, schedule and stopping rule of a run.

    >>> Recipe(epochs=100, batch=128, lr=1e-3, weight_decay=0.01, schedule="cosine")
    """

    PER_RUN: ClassVar[frozenset[str]] = frozenset({"lr", "weight_decay", "clip"})
    """What may differ between runs that take their steps together."""

    epochs: int
    batch: int
    lr: float
    optimiser: Literal["adamw", "adam"] = "adamw"
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = 0
    """Steps over which the learning rate rises linearly from zero."""
    clip: float | None = None
    """The largest gradient norm, over all parameters of one run."""
    measure_every: int = 1
    """Epochs between two measurements; the last epoch is always measured."""
    patience: int | None = None
    """Measurements without a better monitored value after which a run stops; None never stops."""
    precision: Literal["float32", "bfloat16"] = "float32"

    def __post_init__(self) -> None:
        for name, least in (("epochs", 0), ("batch", 1), ("warmup", 0), ("measure_every", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"Recipe: {name} is {getattr(self, name)}; give at least {least}.")
        if not self.lr > 0:
            raise ValueError(f"Recipe: lr is {self.lr}; give a positive learning rate.")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"Recipe: clip is {self.clip}; give a positive norm, or None.")

    def but(self, **changes: Any) -> Recipe:
        """The same recipe with some numbers changed."""
        return dataclasses.replace(self, **changes)

    def lr_factor(self, step: int, total: int) -> float:
        """What the learning rate is multiplied by at a step (counted from 0) of `total`."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        if self.schedule == "constant":
            return 1.0
        progress = (step - self.warmup) / max(1, total - self.warmup)
        return 0.5 * (1.0 + math.cos(math.pi * progress))

    def measures(self, epoch: int) -> bool:
        """Whether the end of this epoch (counted from 0) is measured."""
        return (epoch + 1) % self.measure_every == 0 or epoch + 1 == self.epochs
