"""The arms of source 000: which layers are trained to answer, how fast, and which tokens leave.

The source calls this its universal framework: two or three settings that contain deep supervision,
auxiliary losses, early exit and discriminative learning rates as special cases. `PRESETS` names
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from repro.arm import Arm, Metric
from repro.data.characters import SENTENCES, characters_identity
from repro.data.files import resolve
from repro.recipe import Recipe

LENGTH, BATCH = 64, 32
BATCHES = 48
"""Batches of an epoch: what 100,000 characters fill."""

VALIDATION_TOKENS = 8192
FULL_DEPTH = 3
"""Layers of the network that compute is counted in shares of."""

DOCUMENTED_RECIPE = Recipe(epochs=50, batch=BATCH, lr=1e-3, weight_decay=0.01, clip=1.0, patience=0)


@dataclass(frozen=True, kw_only=True)
class ExitArm(Arm):
    """A character model whose layers share one output head.

    >>> ExitArm(layer_weights=(0.7, 0.0, 0.3), routing_threshold=0.95)
    """

    study: ClassVar[str] = "repro.studies.early_exit.study"
    documented_seeds: ClassVar[tuple[int, ...]] = (42,)
    metrics: ClassVar[dict[str, Metric]] = {
        "perplexity": Metric("log"),
        "accuracy": Metric("log-odds", examples=VALIDATION_TOKENS),
        "compute": Metric("log"),
        "layer_perplexity": Metric("log", listed=True),
        "loss_of_leaving_and_staying": Metric("identity", listed=True),
    }

    layer_weights: tuple[float, ...] = (0.0, 0.0, 1.0)
    """The weight of each layer's own loss, the first layer first; their sum is not normalised."""

    routing_threshold: float = 0.0
    """At evaluation a token leaves after `exit_layer` where that layer is at least this sure of its
    answer; 0 keeps every token to the end."""

    layer_lr_scales: tuple[float, ...] | None = None
    """What the learning rate of each layer is multiplied by; embedding and head keep theirs."""

    exit_layer: int = 1

    alpha_path: Literal["fixed", "linear", "cosine"] = "fixed"
    """Dynamic alpha: the exit layer's weight goes from 0.9 to 0.5 over the planned epochs, and the
    last layer's weight is the rest."""

    width: int = 64
    heads: int = 4
    hidden: int = 256
    data: str = SENTENCES
    recipe: Recipe = DOCUMENTED_RECIPE

    def __post_init__(self) -> None:
        if not self.layer_weights or min(self.layer_weights) < 0 or sum(self.layer_weights) == 0:
            raise ValueError(
                f"layer_weights={self.layer_weights} trains nothing; give each layer a weight that"
                " is not negative, and one of them a positive one."
            )
        scales = self.layer_lr_scales
        if scales is not None and (len(scales) != self.layers or min(scales) < 0):
            raise ValueError(
                f"layer_lr_scales={scales} must be {self.layers} numbers that are not negative, one"
                " for each layer that layer_weights names."
            )
        if not 0 <= self.routing_threshold <= 1:
            raise ValueError(
                f"routing_threshold={self.routing_threshold} is compared with a probability; give"
                " 0 (no routing) to 1."
            )
        if not 1 <= self.exit_layer <= self.layers:
            raise ValueError(
                f"exit_layer={self.exit_layer} is not one of the {self.layers} layers, which count"
                " from 1."
            )

    def at(self, profile: str) -> Self:
        """The documented size at every profile: it fits a CPU."""
        if profile not in ("ci", "paper"):
            raise ValueError(f"Early exit has no profile {profile!r}; it has ci and paper.")
        return self

    def located(self) -> Self:
        return self if self.data == SENTENCES else self.but(data=resolve(self.data))

    def content(self) -> str:
        return characters_identity(self.data)

    @property
    def layers(self) -> int:
        """Layers of the network: one for each weight."""
        return len(self.layer_weights)

    @property
    def steps(self) -> int:
        return self.recipe.epochs * BATCHES

    @property
    def effort(self) -> float:
        block = 4 * self.width**2 + 3 * self.width * self.hidden + 2 * LENGTH * self.width
        return 3.0 * LENGTH * self.layers * block

    @property
    def label(self) -> str:
        known = (name for name, preset in PRESETS.items() if preset.but(data=self.data) == self)
        weights = "/".join(f"{weight:.2g}" for weight in self.layer_weights)
        return next(known, f"{weights} at {self.routing_threshold:g}")

    def weights_in(self, epoch: int) -> tuple[float, ...]:
        """The layers' weights in an epoch, counted from 0."""
        if self.alpha_path == "fixed":
            return self.layer_weights
        progress = epoch / max(1, self.recipe.epochs - 1)
        if self.alpha_path == "cosine":
            progress = 0.5 * (1 - math.cos(math.pi * progress))
        alpha = 0.9 - 0.4 * progress
        weights = [0.0] * self.layers
        weights[self.exit_layer - 1] += alpha
        weights[-1] += 1 - alpha
        return tuple(weights)


STANDARD = ExitArm()
"""Three layers, and the last one's loss alone."""

ONE_LAYER = ExitArm(layer_weights=(1.0,))

EQUAL = (1 / 3, 1 / 3, 1 / 3)
ASYMMETRIC = ExitArm(layer_weights=(0.7, 0.0, 0.3), routing_threshold=0.95)

PRESETS = {
    "standard": STANDARD,
    "deep supervision": STANDARD.but(layer_weights=EQUAL),
    "deep supervision, early exit": STANDARD.but(layer_weights=EQUAL, routing_threshold=0.7),
    "auxiliary loss": ASYMMETRIC.but(layer_weights=(0.5, 0.0, 0.5)),
    "asymmetric 0.7": ASYMMETRIC,
    "asymmetric 0.8": ASYMMETRIC.but(layer_weights=(0.8, 0.0, 0.2)),
    "with L2 loss": ASYMMETRIC.but(layer_weights=(0.7, 1.0, 0.3)),
    "deep focus": ASYMMETRIC.but(layer_weights=(0.3, 0.0, 0.7)),
    "dynamic alpha": ASYMMETRIC.but(alpha_path="linear"),
    "decreasing rates": ASYMMETRIC.but(layer_lr_scales=(1.0, 0.5, 0.1)),
    "increasing rates": ASYMMETRIC.but(layer_lr_scales=(0.1, 0.5, 1.0)),
    "one layer": ONE_LAYER,
}
"""The configurations that the source names."""
