"""Arms of source 001 without a setting in its own trainer: untrained networks, and a warm-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from repro.arm import Metric
from repro.recipe import Recipe
from repro.studies.context_vector.arms import AS_RUN, UPDATES_AN_EPOCH, ContextArm


@dataclass(frozen=True, kw_only=True)
class AtTheStart(ContextArm):
    """A network before its first step, which can be measured at the documented size on a CPU.

    >>> AtTheStart(layers=12, context=512)
    """

    study: ClassVar[str] = "repro.studies.context_vector.start"
    metrics: ClassVar[dict[str, Metric]] = {
        **{
            name: ContextArm.metrics[name]
            for name in ("parameters", "parameters_a_sequence", "sequences", "logit_spread")
        },
        "first_layer_gradient_norm": Metric("log"),
    }

    looked_at: int = 64
    """Gradients and spread are measured on this number of sequences, the first of the set."""

    recipe: Recipe = AS_RUN.but(epochs=0)

    def at_ci(self) -> Self:
        """Return the documented size, which takes only a few seconds without training."""
        return self

    def stacks_on(self, device: str) -> bool:
        return False

    @property
    def label(self) -> str:
        return f"{super().label.removesuffix(', 0 epochs')}, untrained"


@dataclass(frozen=True, kw_only=True)
class WarmUp(Recipe):
    """A recipe whose learning rate rises from a share of itself, not from zero."""

    warmup_from: float
    """The share of the learning rate at the first step."""

    def lr_factor(self, step: int, total: int) -> float:
        if step < self.warmup:
            return self.warmup_from + (1 - self.warmup_from) * step / self.warmup
        return super().lr_factor(step, total)


WARMED_UP = WarmUp(**vars(AS_RUN) | {"warmup": 5 * UPDATES_AN_EPOCH}, warmup_from=0.25)
"""From 0.0001 to 0.0004 in five epochs, as the source proposes."""


@dataclass(frozen=True, kw_only=True)
class WarmedUp(ContextArm):
    """A model with the warm-up that the source proposes for large models."""

    recipe: Recipe = WARMED_UP
