"""Recipes with further optimisers and schedules, for arms of one's own; equal to torch's.

They are a class of their own, so that the runs of arms that do without keep their keys.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal, get_args

from repro.recipe import Recipe

WARM, DIVIDED, FINALLY = 0.3, 25.0, 1e4
"""The numbers of torch's `OneCycleLR`: the share of steps that the rate rises for, what it starts
from below its highest, and what it ends at below its start."""

Optimisers = Literal["adamw", "adam", "sgd"]
Schedules = Literal["constant", "cosine", "linear", "step", "onecycle"]

_CHOICES = {"optimiser": get_args(Optimisers), "schedule": get_args(Schedules)}


@dataclass(frozen=True, kw_only=True)
class OwnRecipe(Recipe):
    """A recipe that may also train by SGD, and by a linear, step or one-cycle schedule.

    >>> OwnRecipe(
    ...     epochs=10, batch=64, lr=0.1, optimiser="sgd", momentum=0.9, nesterov=True,
    ...     weight_decay=5e-4, schedule="onecycle",
    ... )
    """

    optimiser: Optimisers = "adamw"  # type: ignore[assignment]  # more of them
    schedule: Schedules = "constant"  # type: ignore[assignment]
    momentum: float = 0.0
    """The momentum of SGD."""
    nesterov: bool = False
    """True for Nesterov's momentum."""
    drop_every: int = 30
    """Epochs after which a step schedule drops the rate, and again after as many."""
    drop_to: float = 0.1
    """The factor by which a step schedule drops the rate."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise self._refused(name, f"choose one of {', '.join(map(repr, choices))}")
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(Recipe)}
        Recipe(**{**plain, "optimiser": "adamw", "schedule": "constant"})  # refuses the rest
        if not (_is_real(self.momentum) and 0 <= self.momentum < 1):
            raise self._refused("momentum", "give a number from 0 to below 1")
        if type(self.nesterov) is not bool or (self.nesterov and not self.momentum):
            raise self._refused("nesterov", "give True only with a momentum, or False")
        if self.momentum and self.optimiser != "sgd":
            raise self._refused("momentum", 'give one only with optimiser="sgd"')
        if type(self.drop_every) is not int or self.drop_every < 1:
            raise self._refused("drop_every", "give a whole number of at least 1")
        if not (_is_real(self.drop_to) and 0 < self.drop_to < 1):
            raise self._refused("drop_to", "give a number between 0 and 1")
        if self.schedule in ("step", "onecycle") and self.warmup:
            raise self._refused("warmup", f'give 0 with schedule="{self.schedule}"')

    def _refused(self, name: str, instead: str) -> ValueError:
        return ValueError(f"OwnRecipe: {name} is {getattr(self, name)!r}; {instead}.")

    def lr_factor(self, step: int, total: int) -> float:
        """Return the factor of the learning rate at a step (counted from 0) of `total`."""
        if self.schedule == "onecycle":
            return _one_cycle(step, total)
        if self.schedule == "step":
            return float(self.drop_to ** (step // (max(1, total // self.epochs) * self.drop_every)))
        if self.schedule == "linear" and step >= self.warmup:
            return 1.0 - (step - self.warmup) / max(1, total - self.warmup)
        return super().lr_factor(step, total)


def _one_cycle(step: int, total: int) -> float:
    """Return the factor of torch's `OneCycleLR`: up and down again by half a cosine each."""
    top, end = WARM * total - 1.0, total - 1.0
    if step <= top:
        return _between(1 / DIVIDED, 1.0, step / top)
    return _between(1.0, 1 / DIVIDED / FINALLY, (step - top) / (end - top))


def _between(first: float, last: float, share: float) -> float:
    return last + (first - last) / 2.0 * (1.0 + math.cos(math.pi * share))


def _is_real(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
