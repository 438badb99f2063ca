"""The arms of the depth ladder, at their documented size and at a size that two cores can train.

`at_ci` has all differences between the `ci` profile and the documented experiment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self

from repro.arm import Arm, Metric, Needs
from repro.data.images import images_hash
from repro.recipe import Recipe
from repro.studies import fills_lines, resolved

Rule = Literal["bp", "fa", "dfa"]

NARROWER = 8
"""Width of the documented network, divided by that at `ci`."""

PIXELS = {"ci": 8, "paper": 32}
"""The side of an image in each profile: `ci` averages 4x4 pixels into one."""

DOCUMENTED_STD = 0.02

DOCUMENTED_RECIPE = Recipe(
    epochs=100, batch=128, lr=1e-3, weight_decay=0.01, schedule="cosine", measure_every=10
)


@dataclass(frozen=True, kw_only=True)
class LadderArm(Arm):
    """A residual MLP whose last `trained` blocks learn by a credit rule."""

    study: ClassVar[str] = "repro.studies.depth_ladder.study"
    per_run: ClassVar[frozenset[str]] = frozenset({"trained"})
    documented_seeds: ClassVar[tuple[int, ...]] = (42, 123, 456)
    metrics: ClassVar[dict[str, Metric]] = {
        "accuracy": Metric("log-odds"),
        "block_ratio": Metric("log", listed=True),
        "stack_ratio": Metric("log"),
        "stack_cosine": Metric("identity"),
        "alignment": Metric("identity", listed=True),
    }

    width: int
    depth: int
    rule: Rule
    trained: int
    """The number of trained blocks, counted from the output; the others stay at their start."""

    expansion: int = 4
    """The hidden units of a block as a multiple of its width."""

    feedback: Literal["weights", "blocks"] = "weights"
    """The meaning of FA, which the source leaves open.

    `weights` replaces each weight matrix of a block by a random matrix and keeps the skip
    connection; `blocks` replaces the whole block with its skip connection by one random matrix."""

    credit: Literal["normalised", "raw"] = "normalised"
    """The credit of FA and DFA: `normalised` divides the credit of each example by its RMS."""

    embedding: Literal["trained", "frozen"] = "trained"

    weight_std: float = DOCUMENTED_STD
    embedding_std: float = DOCUMENTED_STD

    data: str = "cifar10"
    pixels: int = PIXELS["paper"]
    images: int = 50_000
    """The number of training images, the first of the set."""

    shift: int = 4
    """The most pixels of a training image's random shift, in each direction.

    Images are also mirrored at random. With 0 they stay unchanged."""

    recipe: Recipe = DOCUMENTED_RECIPE

    def __post_init__(self) -> None:
        if not 0 <= self.trained <= self.depth:
            raise ValueError(
                f"trained={self.trained} of {self.depth} blocks cannot be; give 0 to {self.depth}."
            )

    def at_ci(self) -> Self:
        """Return the same experiment with an eighth of the width, on 8x8 pixels, for 8 epochs.

        It has shifts of one pixel, and the first 10,240 images. Batches of 32 keep an epoch at 320
        steps (documented: 390), since AdamW's progress depends on the number of steps. The standard
        deviations of the initialisation grow as the layers shrink, so that all pre-activations, and
        with them the frozen blocks, start as at the documented size.
        """
        shrink = PIXELS["paper"] / PIXELS["ci"]
        return self.but(
            width=self.width // NARROWER,
            weight_std=self.weight_std * math.sqrt(NARROWER),
            embedding_std=self.embedding_std * shrink,
            pixels=PIXELS["ci"],
            images=10_240,
            shift=self.shift * PIXELS["ci"] // PIXELS["paper"],
            recipe=self.recipe.but(epochs=min(self.recipe.epochs, 8), batch=32),
        )

    def ladder(self) -> list[Self]:
        """Return this arm with 0, 1, … up to all blocks trained."""
        return [self.but(trained=k) for k in range(self.depth + 1)]

    def is_exact(self, metric: str, index: int | None = None) -> bool:
        """Return True also for FA's credit at its last block: by definition it is the gradient."""
        told_the_gradient = metric == "alignment" and self.rule == "fa" and index == self.depth
        return super().is_exact(metric, index) or told_the_gradient

    @property
    def blocks(self) -> range:
        """The trained blocks, counted from the input."""
        return range(self.depth - self.trained, self.depth)

    @property
    def label(self) -> str:
        """A short name for tables."""
        variants = [
            name
            for name, other in (
                (" through blocks", self.rule == "fa" and self.feedback == "blocks"),
                (" raw", self.rule != "bp" and self.credit == "raw"),
                (" frozen embedding", self.embedding == "frozen"),
                (" without augmentation", self.shift == 0),
                (f" one block x{self.expansion}", self.depth == 1),
                (" without blocks", self.depth == 0),
            )
            if other
        ]
        return f"{self.rule.upper()}{''.join(variants)} k={self.trained}"

    @property
    def inputs(self) -> int:
        """The number of pixel values of an image."""
        return 3 * self.pixels**2

    @property
    def steps(self) -> int:
        return self.recipe.epochs * (self.images // self.recipe.batch)

    def stacks_on(self, device: str) -> bool:
        return device != "cpu" or (fills_lines(self.width) and self.recipe.batch % 8 == 0)

    def located(self) -> Self:
        here = resolved(self, "data")
        if here != self and self.pixels != PIXELS["ci"]:
            raise Needs(
                f"{self.label} at {self.pixels}x{self.pixels} pixels needs CIFAR-10 itself, whose"
                " twin is smaller: run `python -m repro data fetch cifar10`."
            )
        return here

    def content(self) -> str:
        return images_hash(self.data)

    @property
    def effort(self) -> float:
        block = 2 * self.expansion * self.width**2
        passed_down = {"bp": self.depth, "fa": self.depth, "dfa": 0}[self.rule]
        local = self.trained * (1 if self.rule == "bp" else 1.5)
        edges = 3 * self.width * (self.inputs + 10)
        return edges + block * (self.depth + passed_down + local)


D256_L4 = LadderArm(width=256, depth=4, rule="bp", trained=4)
"""The source's primary configuration."""

D512_L2 = LadderArm(width=512, depth=2, rule="bp", trained=2)
"""The source's secondary configuration, on which it reports that FA fails."""


def shallow(arm: LadderArm) -> LadderArm:
    """Return the arm with a single block, which has as many parameters as all its blocks."""
    return arm.but(depth=1, trained=1, expansion=arm.expansion * arm.depth)


def without_blocks(arm: LadderArm) -> LadderArm:
    """Return the arm's embedding and readout, without blocks."""
    return arm.but(depth=0, trained=0)


@dataclass(frozen=True, kw_only=True)
class PlacedArm(LadderArm):
    """A residual MLP that trains as many blocks as a rung of the ladder, but other ones.

    >>> placed(D256_L4.but(rule="dfa", trained=1), "input").blocks
    range(0, 1)
    """

    place: Literal["input", "middle"]
    """The place of the trained blocks: next to the input, or around the middle."""

    @property
    def blocks(self) -> range:
        first = 0 if self.place == "input" else (self.depth - self.trained) // 2
        return range(first, first + self.trained)

    @property
    def label(self) -> str:
        return f"{super().label} at the {self.place}"


@dataclass(frozen=True, kw_only=True)
class LocalArm(LadderArm):
    """A residual MLP in which each layer minimises its own loss, with true gradients as credit.

    The loss is that of a layer in FA or DFA: the product of its output and its credit. Here the
    credit is the true gradient, divided by its root mean square for each example.

    >>> by_local_losses(D256_L4).label
    'BP by local losses k=4'
    """

    @property
    def label(self) -> str:
        return super().label.replace("BP", "BP by local losses", 1)


@dataclass(frozen=True, kw_only=True)
class StartArm(LadderArm):
    """An untrained residual MLP, with more measures than trained ones."""

    metrics: ClassVar[dict[str, Metric]] = {**LadderArm.metrics, "norm_ratio": Metric("log")}

    rule: Literal["bp"] = "bp"
    trained: int = 0
    recipe: Recipe = DOCUMENTED_RECIPE.but(epochs=0)

    def stacks_on(self, device: str) -> bool:
        return False  # nothing is trained

    @property
    def label(self) -> str:
        return f"{self.depth} blocks at their start"


@dataclass(frozen=True, kw_only=True)
class LinearArm(Arm):
    """A linear classifier of the ladder's inputs: no embedding, no blocks, no norm."""

    study: ClassVar[str] = "repro.studies.depth_ladder.study"
    documented_seeds: ClassVar[tuple[int, ...]] = LadderArm.documented_seeds
    metrics: ClassVar[dict[str, Metric]] = {"accuracy": LadderArm.metrics["accuracy"]}

    weight_std: float = DOCUMENTED_STD
    data: str = D256_L4.data
    pixels: int = D256_L4.pixels
    images: int = D256_L4.images
    shift: int = D256_L4.shift
    recipe: Recipe = DOCUMENTED_RECIPE

    def at_ci(self) -> Self:
        """Return the classifier with inputs, images, epochs and batches of the ladder at `ci`."""
        small = D256_L4.at_ci()
        return self.but(
            pixels=small.pixels,
            images=small.images,
            shift=small.shift,
            recipe=self.recipe.but(epochs=small.recipe.epochs, batch=small.recipe.batch),
        )

    @property
    def ladder(self) -> LadderArm:
        """An arm of the ladder with the same data."""
        return D256_L4.but(data=self.data, pixels=self.pixels, images=self.images, shift=self.shift)

    def located(self) -> Self:
        return self.but(data=self.ladder.located().data)

    def content(self) -> str:
        return self.ladder.content()

    @property
    def steps(self) -> int:
        return self.recipe.epochs * (self.images // self.recipe.batch)

    @property
    def effort(self) -> float:
        return 2.0 * self.ladder.inputs * 10

    @property
    def label(self) -> str:
        return "linear classifier"


def placed(arm: LadderArm, place: Literal["input", "middle"]) -> PlacedArm:
    """Return an arm of the ladder with its trained blocks moved away from the output."""
    return PlacedArm(**_settings(arm), place=place)


def by_local_losses(arm: LadderArm) -> LocalArm:
    """Return a BP arm with a loss for each layer instead of one for all."""
    return LocalArm(**_settings(arm))


def at_start(arm: LadderArm) -> StartArm:
    """Return the initialised network of an arm."""
    return StartArm(width=arm.width, depth=arm.depth)


def _settings(arm: LadderArm) -> dict[str, Any]:
    return {field.name: getattr(arm, field.name) for field in fields(arm)}
