"""Counts the cost of an update of a finetuned GPT, without weights, messages or training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from repro.arm import Arm, Metric, Run
from repro.recipe import Recipe
from repro.studies.finetuning.arms import FinetuneArm


@dataclass(frozen=True, kw_only=True)
class CostArm(Arm):
    """The cost of an arm at its documented size, which no seed changes.

    >>> CostArm(of=FinetuneArm(size="xl"))
    """

    study: ClassVar[str] = "repro.studies.finetuning.costs"
    documented_seeds: ClassVar[tuple[int, ...]] = FinetuneArm.documented_seeds
    metrics: ClassVar[dict[str, Metric]] = {"multiplications": Metric("log", exact=True)}

    of: FinetuneArm
    data: str = "arithmetic"
    recipe: Recipe = Recipe(epochs=0, batch=8, lr=5e-5)

    def at_ci(self) -> Self:
        """Return the arm itself, since counting takes no time."""
        return self

    @property
    def data_sets(self) -> tuple[str, ...]:
        return ()

    def content(self) -> str:
        return self.data

    @property
    def steps(self) -> int:
        return 0

    @property
    def label(self) -> str:
        return f"{self.of.size}, {self.of.label}"


class Costs:
    """The study of counted costs."""

    def train_outside(self, run: Run[CostArm]) -> dict[str, float | list[float]]:
        return {"multiplications": run.arm.of.multiplications}


STUDY = Costs()
