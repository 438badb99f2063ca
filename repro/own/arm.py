"""Base classes for a user's own arms, which add settings and say what is measured."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

from repro.arm import Arm
from repro.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class OwnArm(Arm):
    """An arm that has one size, and data that its name says all of."""

    def at_ci(self) -> Self:
        """Return the arm as it is; override it where the documented size is too large for CI."""
        return self

    def content(self) -> str:
        """Return what tells this data from other data of the same name: for files, their hash."""
        return self.data

    @property
    def label(self) -> str:
        """The type, and every setting that is not at its default."""
        return " ".join([type(self).__name__.lower(), ", ".join(self._unusual())]).strip()

    def _unusual(self) -> list[str]:
        return [
            f"{field.name} {getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if field.name not in ("data", "recipe") and getattr(self, field.name) != field.default
        ]


@dataclass(frozen=True, kw_only=True)
class ModuleArm(OwnArm):
    """An arm of a `repro.own.module.ModuleStudy`.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Spiral(ModuleArm):
    ...     study: ClassVar[str] = "spirals"  # the module that holds STUDY
    ...     metrics: ClassVar[dict[str, Metric]] = {"accuracy": Metric("log-odds", examples=500)}
    ...     width: int = 32
    ...     data: str = "two spirals"
    ...     examples: int = 400
    ...     recipe: Recipe = Recipe(epochs=50, batch=50, lr=1e-2)
    """

    code: ClassVar[tuple[str, ...]] = ("repro.own.module",)

    examples: int
    """The number of examples to train on."""

    recipe: Recipe

    def _unusual(self) -> list[str]:
        usual = next(f.default for f in dataclasses.fields(self) if f.name == "recipe")
        if not isinstance(usual, Recipe):
            return super()._unusual()
        numbers, chosen = dataclasses.asdict(usual), dataclasses.asdict(self.recipe)
        return super()._unusual() + [f"{n} {x}" for n, x in chosen.items() if x != numbers[n]]

    @property
    def steps(self) -> int:
        return self.recipe.epochs * (self.examples // self.recipe.batch)

    @property
    def stacks(self) -> bool:
        return True  # timing finds out where its module does not stack, and the session says so


@dataclass(frozen=True, kw_only=True)
class OutsideArm(OwnArm):
    """An arm of a `repro.own.outside.OutsideStudy`: it trains by its own rules, without a recipe.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Sort(OutsideArm):
    ...     study: ClassVar[str] = "sorting"
    ...     metrics: ClassVar[dict[str, Metric]] = {"comparisons": Metric("log")}
    ...     pivot: str = "middle"
    ...     data: str = "shuffled numbers"
    """

    code: ClassVar[tuple[str, ...]] = ("repro.own.outside",)

    @property
    def steps(self) -> int:
        return 0

    def epochs_known(self, *, measured: bool) -> list[int]:
        return []

    @property
    def stops_early(self) -> bool:
        return False

    @property
    def work(self) -> float:
        return 0.0  # unknown: it is timed when it is trained
