"""Models in which only some layers share, or share only their feed-forward part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from repro.studies.parameter_sharing.arms import SharingArm


@dataclass(frozen=True, kw_only=True)
class PartialArm(SharingArm):
    """A language model in which neighbouring layers share one part, and nothing else.

    >>> PartialArm(part="feed-forward", among="first half").sharing
    (0, 1, 2)
    """

    study: ClassVar[str] = "repro.studies.parameter_sharing.partial_study"

    part: Literal["feed-forward", "block"]
    """The shared part: the two matrices of the feed-forward layer, or the whole block."""

    among: Literal["first half", "last half", "all"]
    """The layers that share it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sets < self.layers or self.halting:
            raise ValueError(
                f"sets={self.sets} share whole layers already; give one set for each of the"
                f" {self.layers} layers."
            )

    @property
    def sharing(self) -> tuple[int, ...]:
        """The layers that share the part."""
        half = self.layers // 2
        first, last = {"first half": (0, half), "last half": (half, self.layers)}.get(
            self.among, (0, self.layers)
        )
        return tuple(range(first, last))

    @property
    def label(self) -> str:
        where = "all layers" if self.among == "all" else f"the {self.among}"
        return f"{super().label}, {self.part} shared by {where}"
