"""Arms of one's own: a subclass adds settings, and says what is measured."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Self

from repro.arm import Arm, Settings
from repro.recipe import Recipe


@dataclass(frozen=True, kw_only=True)
class OwnArm(Arm):
    """What the arms of both kinds have in common: one size, and data that its name says all of."""

    def at(self, profile: str) -> Self:
        """The same at every profile; override it where the documented size is too large for CI."""
        return self

    def content(self) -> str:
        """What tells this data from other data of the same name: for files, their hash."""
        return self.data

    @property
    def label(self) -> str:
        """The type, and every setting that is not at its default."""
        own = [f for f in dataclasses.fields(self) if f.name not in ("data", "recipe")]
        said = [f"{f.name} {getattr(self, f.name)}" for f in own if _is_said(self, f)]
        recipe = next(f for f in dataclasses.fields(self) if f.name == "recipe")
        if isinstance(recipe.default, Recipe):
            usual = dataclasses.asdict(recipe.default)
            chosen = dataclasses.asdict(self.recipe)
            said += [f"{name} {x}" for name, x in chosen.items() if x != usual[name]]
        return " ".join([type(self).__name__.lower(), ", ".join(said)]).strip()


def _is_said(arm: Arm, field: dataclasses.Field[object]) -> bool:
    return field.default is dataclasses.MISSING or getattr(arm, field.name) != field.default


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
    """How many there are to train on."""

    @property
    def steps(self) -> int:
        return self.recipe.epochs * (self.examples // self.recipe.batch)

    @property
    def stacks(self) -> bool:
        return True  # if its module cannot be, that comes out when it is timed, and is said


@dataclass(frozen=True, kw_only=True)
class OutsideArm(OwnArm):
    """An arm of a `repro.own.outside.OutsideStudy`, which trains by its own rules.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Sort(OutsideArm):
    ...     study: ClassVar[str] = "sorting"
    ...     metrics: ClassVar[dict[str, Metric]] = {"comparisons": Metric("log")}
    ...     pivot: str = "middle"
    ...     data: str = "shuffled numbers"
    """

    code: ClassVar[tuple[str, ...]] = ("repro.own.outside",)

    recipe: Recipe = dataclasses.field(
        default=Recipe(epochs=0, batch=1, lr=1.0), init=False, repr=False
    )
    """None of repro's: how it is trained is among its own settings."""

    def settings(self) -> Settings:
        return {name: x for name, x in super().settings().items() if name != "recipe"}

    @property
    def steps(self) -> int:
        return 0
