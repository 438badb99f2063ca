"""Variants of the ladder of source 004: other blocks, local losses, a linear classifier, the start.

They are separate classes, so that the ladder's arms need no settings for them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self

from repro.arm import Arm, Metric
from repro.recipe import Recipe
from repro.studies.depth_ladder.arms import D256_L4, DOCUMENTED_RECIPE, DOCUMENTED_STD, LadderArm


@dataclass(frozen=True, kw_only=True)
class PlacedArm(LadderArm):
    """A residual MLP that trains as many blocks as a rung of the ladder, but other ones.

    >>> placed(D256_L4.but(rule="dfa", trained=1), "input").blocks
    (0,)
    """

    study: ClassVar[str] = "repro.studies.depth_ladder.placed"

    place: Literal["input", "middle"]
    """The place of the trained blocks: next to the input, or around the middle."""

    @property
    def blocks(self) -> tuple[int, ...]:
        """The trained blocks, counted from the input."""
        first = 0 if self.place == "input" else (self.depth - self.trained) // 2
        return tuple(range(first, first + self.trained))

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

    study: ClassVar[str] = "repro.studies.depth_ladder.local_losses"

    @property
    def label(self) -> str:
        return super().label.replace("BP", "BP by local losses", 1)


@dataclass(frozen=True, kw_only=True)
class StartArm(LadderArm):
    """An untrained residual MLP, with more measures than trained ones."""

    study: ClassVar[str] = "repro.studies.depth_ladder.start"
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

    study: ClassVar[str] = "repro.studies.depth_ladder.linear"
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
