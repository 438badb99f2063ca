"""The arms of source 000: the trained layers, and the rule by which tokens exit.

The source calls this its universal framework: two or three settings that contain deep supervision,
auxiliary losses, early exit and discriminative learning rates as special cases. `PRESETS` has their
names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from repro.arm import Arm, Metric, Needs, Settings
from repro.data.characters import SENTENCES, TRAINING, characters_hash
from repro.recipe import Recipe
from repro.studies import fills_lines, require_real

WIKITEXT = "wikitext-2"
"""The text that the source names."""

LARGEST_STACKED = 256
"""The largest stacked step on a CPU, in windows times width: a larger one fills a core by itself.

By measurement, stacking is 1.1 times as fast with 8 windows of width 32, and 1.8 times with 4."""

LENGTH = 64
"""The number of characters of a window."""

VALIDATION_BATCH = 32
"""The number of windows in a batch; an incomplete last batch is left out, as in the source."""

VALIDATION_TOKENS = 8192
STOPS_AFTER = {SENTENCES: 0.05}
"""The share of its steps after which a run usually stops early, by text; 0.4 for other texts."""

FULL_DEPTH = 3
"""The measure `compute` is a share of this number of layers."""

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
    """The weight of each layer's loss, the first layer first; the weights are not normalised."""

    routing_threshold: float = 0.0
    """In evaluation, a token leaves at the first exit with at least this confidence.

    With 0 no token leaves early."""

    layer_lr_scales: tuple[float, ...] | None = None
    """The factor of the learning rate of each layer; embedding and head have the factor 1."""

    exits: tuple[int, ...] = (1,)
    """The layers after which tokens may leave, counted from 1."""

    confidence: Literal["max-softmax", "learned"] = "max-softmax"
    """The measure of a layer's confidence in its answer.

    `max-softmax` is its largest probability; `learned` is the output of a separate head, which is
    trained beside the network to tell right answers from wrong ones."""

    alpha_path: Literal["fixed", "linear"] = "fixed"
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

        WikiText-2 needs many epochs, where the sentences need two, so its `ci` is smaller. It has
        half the width and half the heads, so the heads keep their size. It has an eighth of the
        characters in batches of an eighth, so an epoch keeps its number of steps.
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

    def at(self, profile: str) -> Self:
        if profile == "paper" and self.data == SENTENCES:
            raise Needs("has its documented size at ci already, and is judged there")
        return super().at(profile)

    def is_exact(self, metric: str, index: int | None = None) -> bool:
        """Return True also for the compute of a network without early exits."""
        by_all = metric == "compute" and self.routing_threshold == 0
        return super().is_exact(metric, index) or by_all

    def located(self) -> Self:
        if self.data != SENTENCES:
            require_real(self, "data")
        return self

    def content(self) -> str:
        return characters_hash(self.data)

    def trained_as(self) -> Self:
        """Return this arm without its threshold, and without exits unless they are trained."""
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
        """Return whether stacking pays; on a CPU, for small steps that fill whole cache lines."""
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
        alpha = 0.9 - 0.4 * progress
        weights = [0.0] * self.layers
        weights[self.exits[0] - 1] += alpha
        weights[-1] += 1 - alpha
        return tuple(weights)


FRAMEWORK = ("layer_weights", "routing_threshold", "layer_lr_scales", "alpha_path")
"""The settings of a configuration of the source."""

STANDARD = ExitArm()
"""Three layers, with only the last layer's loss."""

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
