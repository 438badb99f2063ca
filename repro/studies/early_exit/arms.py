"""The arms of source 000: the layers that are trained to predict, and the tokens that leave.

The source calls this its universal framework: two or three settings that contain deep supervision,
auxiliary losses, early exit and discriminative learning rates as special cases. `PRESETS` names
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from repro.arm import Arm, Metric, Settings
from repro.data.characters import SENTENCES, TRAINING, characters_identity
from repro.recipe import Recipe
from repro.studies.cache_lines import fills_lines
from repro.studies.resolved import resolved

WIKITEXT = "wikitext-2"
"""The text that the source names."""

LARGEST_STACKED = 256
"""The largest stacked step, as windows times width: the products of a larger one fill a core alone.

Stacking was measured to be 1.1 times as fast at 8 windows of width 32, and 1.8 times at 4."""

LENGTH = 64
"""The number of characters of a window."""

VALIDATION_BATCH = 32
"""The number of windows in a batch; the last batch is left out if not full, as in the source."""

VALIDATION_TOKENS = 8192
STOPS_AFTER = {SENTENCES: 0.05}
"""The share of its steps after which a run usually stops early, by data; 0.4 of other texts."""

FULL_DEPTH = 3
"""The number of layers that the measure `compute` is a share of."""

DOCUMENTED_RECIPE = Recipe(epochs=50, batch=32, lr=1e-3, weight_decay=0.01, clip=1.0, patience=0)


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
        "perplexity_with_half_leaving": Metric("log"),
        "layer_perplexity": Metric("log", listed=True),
        "loss_of_leaving_and_staying": Metric("identity", listed=True),
    }

    per_run: ClassVar[frozenset[str]] = frozenset(
        {"layer_weights", "layer_lr_scales", "alpha_path"}
    )

    layer_weights: tuple[float, ...] = (0.0, 0.0, 1.0)
    """The weight of each layer's own loss, the first layer first; their sum is not normalised."""

    routing_threshold: float = 0.0
    """The sureness from which on a token leaves, at evaluation, after the first such exit.

    0 keeps every token to the end."""

    layer_lr_scales: tuple[float, ...] | None = None
    """The factor of the learning rate of each layer; embedding and head keep theirs."""

    exits: tuple[int, ...] = (1,)
    """The layers after which tokens may leave, counted from 1."""

    confidence: Literal["max-softmax", "learned"] = "max-softmax"
    """The measure of how sure a layer is of its answer.

    `max-softmax` is its largest probability; `learned` is the output of a head of its own, which is
    trained beside the network to tell right answers from wrong ones."""

    alpha_path: Literal["fixed", "linear", "cosine"] = "fixed"
    """The path of dynamic alpha: the first exit's weight from 0.9 to 0.5 over the planned epochs.

    The last layer's weight is the rest."""

    width: int = 64
    heads: int = 4
    hidden: int = 256
    data: str = SENTENCES
    characters: int = TRAINING
    """The number of characters to train on, the first of the text."""

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
        if not self.exits or not set(self.exits) <= set(range(1, self.layers + 1)):
            raise ValueError(
                f"exits={self.exits} must name some of the {self.layers} layers, which count from"
                " 1."
            )
        if list(self.exits) != sorted(set(self.exits)):
            raise ValueError(f"exits={self.exits} must name each layer once, the first one first.")

    def at_ci(self) -> Self:
        """Return the documented size on the repeated sentences, which fits a CPU; else a small one.

        WikiText-2 takes many epochs where the sentences take two, so its `ci` is smaller: half the
        width in half as many heads, which leaves a head its size, and an eighth of the characters
        in batches of an eighth, which leaves the number of steps in an epoch as documented.
        """
        if self.data == SENTENCES:
            return self
        return self.but(
            width=self.width // 2,
            heads=self.heads // 2,
            hidden=self.hidden // 2,
            characters=self.characters // 8,
            recipe=self.recipe.but(batch=self.recipe.batch // 8),
        )

    def is_exact(self, metric: str, index: int | None = None) -> bool:
        """Return True for what is computed by a network that no token leaves, too."""
        by_all = metric == "compute" and self.routing_threshold == 0
        return super().is_exact(metric, index) or by_all

    def located(self) -> Self:
        return self if self.data == SENTENCES else resolved(self, "data")

    def content(self) -> str:
        return characters_identity(self.data, training=self.characters)

    def trained_as(self) -> Self:
        """Return this arm without threshold, and without exits unless they are trained."""
        plain = self.but(routing_threshold=0.0)
        if self.confidence == "max-softmax" and self.alpha_path == "fixed":
            plain = plain.but(exits=(1,))
        return plain

    @property
    def layers(self) -> int:
        """The number of layers, one for each weight."""
        return len(self.layer_weights)

    def settings(self) -> Settings:
        return {**super().settings(), "layers": self.layers}

    def stacks_on(self, device: str) -> bool:
        """Return whether stacking pays: on a CPU for small steps, whose matrices fill its lines."""
        is_small = self.recipe.batch * self.width <= LARGEST_STACKED
        pays = device != "cpu" or (is_small and fills_lines(self.width, self.hidden))
        return pays and self.confidence == "max-softmax"

    @property
    def work(self) -> float:
        return super().work * (STOPS_AFTER.get(self.data, 0.4) if self.stops_early else 1.0)

    @property
    def steps(self) -> int:
        windows = (self.characters - 1) // LENGTH
        return self.recipe.epochs * (windows // self.recipe.batch)

    @property
    def effort(self) -> float:
        block = 4 * self.width**2 + 3 * self.width * self.hidden + 2 * LENGTH * self.width
        return 3.0 * LENGTH * self.layers * block

    @property
    def label(self) -> str:
        """The source's name for these settings, and the settings that differ from it."""
        framework = ExitArm(**{name: getattr(self, name) for name in FRAMEWORK})
        weights = "/".join(f"{weight:.2g}" for weight in self.layer_weights)
        spelled = f"{weights} at {self.routing_threshold:g}"
        if self.layer_lr_scales:
            spelled += f", rates {'/'.join(f'{scale:.2g}' for scale in self.layer_lr_scales)}"
        name = next((name for name, preset in PRESETS.items() if preset == framework), spelled)
        usual = STANDARD.but(data=self.data)
        sizes = [usual, usual.at("ci")]
        variants = [
            text
            for text, other in (
                (f"exits {'/'.join(map(str, self.exits))}", self.exits != usual.exits),
                (f"{self.confidence} confidence", self.confidence != usual.confidence),
                (f"lr {self.recipe.lr:g}", self.recipe.lr != usual.recipe.lr),
                (f"{self.width} wide", self.width not in {size.width for size in sizes}),
                (
                    f"{self.characters:,} characters",
                    self.characters not in {size.characters for size in sizes},
                ),
            )
            if other
        ]
        return ", ".join([name, *variants])

    def weights_in(self, epoch: int) -> tuple[float, ...]:
        """Return the layers' weights in an epoch, counted from 0."""
        if self.alpha_path == "fixed":
            return self.layer_weights
        progress = epoch / max(1, self.recipe.epochs - 1)
        if self.alpha_path == "cosine":
            progress = 0.5 * (1 - math.cos(math.pi * progress))
        alpha = 0.9 - 0.4 * progress
        weights = [0.0] * self.layers
        weights[self.exits[0] - 1] += alpha
        weights[-1] += 1 - alpha
        return tuple(weights)


FRAMEWORK = ("layer_weights", "routing_threshold", "layer_lr_scales", "alpha_path")
"""The settings that a configuration of the source consists of."""

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


def on(text: str, *names: str) -> list[ExitArm]:
    """Return the named configurations on a text.

    >>> standard, best = on("wikitext-2", "standard", "decreasing rates")
    """
    return [PRESETS[name].but(data=text) for name in names]
