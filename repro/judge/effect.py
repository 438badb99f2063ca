"""One comparison of a statement as a verdict reports it, and the sides that it compares."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal

from repro.judge.evidence import Evidence


@dataclass(frozen=True)
class Sample:
    """One side of a statement, and its value on each seed that was used, in their order."""

    label: str
    values: tuple[float, ...]
    is_fixed: bool = False
    """True for a number that a claim names, which is the same on every seed."""
    examples: int = 0
    """The number of examples each value is the mean of, where their error is counted."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


@dataclass(frozen=True, kw_only=True)
class Effect(Evidence):
    """The evidence of one comparison, at the look where the verdict fell, and what it is about.

    `estimate`, `low` and `high` are in the natural unit (`unit`), measured at the typical value of
    the right side. The interval is the one whose end touches the bound exactly when p touches the
    boundary; it holds over all looks together. Where looking stopped early, because the answer was
    clear, the estimate is on average too far from the bound.
    """

    label: str
    kind: Literal["difference", "spread", "share", "run"] = "difference"
    """A `run` is what one run gives, or the mean of a few, beside a documented one as the bound."""
    unit: str
    bound: float
    below: bool = False
    """True where the claim is that the estimate lies below the bound, not above it."""
    width: str = ""
    """The words for how near to the bound a run must be shown to be."""
    estimate: float
    low: float
    high: float
    distance: float
    """The distance past the bound; infinite where nothing depends on the seed.

    It is in standard deviations over seeds, for a standard deviation a logarithm, for a share of
    runs a share.
    """
    correlation: float | None = None
    """Pearson's r of the two sides over paired seeds."""
    needed: bool = True
    """False for what follows from other comparisons and can only refute."""
    sides: tuple[int, ...] = ()
    """The places of its sides among the samples of the verdict, in the order of its label."""
    per_seed: tuple[float, ...] = ()
    """The same comparison on each seed alone; of a spread, the values themselves."""

    @property
    def counted(self) -> str:
        """The number of seeds in words; of two samples that differ in it, both."""
        if len(set(self.counts)) < 2:
            return f"{self.seeds} seeds"
        return f"{' and '.join(map(str, self.counts))} seeds"

    @property
    def has_spread(self) -> bool:
        """False where every seed gave the same difference, so that nothing had to be inferred."""
        return abs(self.distance) != float("inf")

    def __str__(self) -> str:
        """The estimate beside the claim, and how clear it is."""
        mark = "holds" if self.holds else "contradicted" if self.fails else "open"
        mark = mark if self.needed else f"also {mark}"
        estimate = f"{self.estimate:.3g}"
        if self.has_spread:
            estimate += f" [{self.low:.3g}, {self.high:.3g}]"
        p = f"p {self.p_for:.2g}, boundary {self.boundary:.2g}"
        if self.fails:
            opposite = "" if self.kind == "run" else " (of the opposite)"
            p = f"p{opposite} {self.p_against:.2g}, boundary {self.boundary_against:.2g}"
        if self.kind == "run":
            return f"{mark}: {self.label} gives {estimate}{self._beside(p)}"
        claimed = f"claimed {'<' if self.below else '>'} {self.bound:.3g}"
        p = "the same on every seed" if self.alike or not self.has_spread else p
        return f"{mark}: {self.label} = {estimate} {self.unit}, {claimed}; {p}"

    def _beside(self, p: str) -> str:
        """The rest of the sentence about a run: the documented one beside it."""
        documented = f"documented is {self.bound:g}"
        unit = "" if self.unit == "ratio" else f" {self.unit}"
        if not self.has_spread:
            lies = "lies" if self.holds else "does not lie"
            return f"{unit}, the same on every seed; {documented}, which {lies} {self.width}"
        if self.fails:
            return f"{unit}; {documented}, outside ({p})"
        shown = "shown" if self.holds else "not shown"
        return f"{unit}; {documented}, inside, and {shown} to lie {self.width} ({p})"
