"""An arm whose runs exist already: its settings are what tells it apart in the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

from repro.arm import Arm, Metric, Settings
from repro.recorded.read_files import Read
from repro.recorded.rivals import Rivals
from repro.recorded.runs import Chosen, RecordedArmRuns


class Source(Protocol):
    """The record that arms are read from."""

    @property
    def paired(self) -> bool: ...
    @property
    def looks(self) -> tuple[int, ...]: ...
    @property
    def content(self) -> str:
        """The files and their hashes, in words."""

    @property
    def metrics(self) -> Mapping[str, Metric]: ...
    @property
    def diverged(self) -> Mapping[str, float]: ...
    @property
    def read(self) -> Read | None: ...
    def runs(self, chosen: Chosen, /) -> RecordedArmRuns: ...
    def only(self, given: Chosen, /) -> Chosen:
        """Return all settings of the only arm that has the given ones."""

    def arm_of(self, chosen: Chosen, /) -> Any:
        """Return the arm that has all of these settings, always the same object."""

    def label_of(self, chosen: Chosen, /) -> str: ...
    @property
    def rivals(self) -> Rivals: ...


ALL = 2**63
"""More seeds than there are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedArm(Arm):
    """One arm of a source of recorded runs, as calling the source returns it."""

    study: ClassVar[str] = "repro.recorded"
    source: ClassVar[Source]

    chosen: Chosen
    """The settings as a claim names them, or all of them once the record was read."""

    @cached_property
    def _exact(self) -> str:
        """Return what makes two arms the same: files of other folders may be called alike."""
        return f"{id(self.source)} {self.chosen!r}"

    def at(self, profile: str) -> Self:
        """Return the arm as it is: what is recorded has one size."""
        return self

    def content(self) -> str:
        return self.source.content

    def settings(self) -> Settings:
        return {"arm": "recorded", "data": self.data, **dict(self.chosen)}

    @property
    def label(self) -> str:
        """The settings in which it differs from other arms of its source."""
        return self.source.label_of(self.chosen)

    def located(self) -> Self:
        """Return this arm with all of its settings; raises `RecordedError` where it is not one."""
        only: Self = self.source.arm_of(self.source.only(self.chosen))
        return only

    @property
    def steps(self) -> int:
        return 0

    @property
    def work(self) -> float:
        return 0.0

    def epochs_of(self, metric: str) -> list[int]:
        """Return the epochs or steps at which a metric was recorded."""
        return self.source.runs(self.chosen).epochs(metric)

    def seeds(self, count: int) -> list[int]:  # type: ignore[override]  # each arm has its own
        """Return the first `count` seeds that there are, in their order, or all of them."""
        return list(self.source.runs(self.chosen).runs)[:count]

    @property
    def pairing(self) -> object:
        """None where a seed is the same in all arms; else these runs, which are like no others."""
        return None if self.source.paired else self

    def __getstate__(self) -> Any:
        raise TypeError("recorded runs are judged where their record is, and are sent nowhere")
