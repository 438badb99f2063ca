"""One comparison of a statement as a verdict reports it, and its sides."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal

from repro.judge.evidence import Evidence


@dataclass(frozen=True)
class Sample:
    """One side of a statement, with its value on each used seed, in order."""

    label: str
    values: tuple[float, ...]
    is_fixed: bool = False
    """True for a number that the claim names."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)


@dataclass(frozen=True, kw_only=True)
class Effect(Evidence):
    """One comparison and its evidence, at the look that settled the verdict.

    `estimate`, `low` and `high` are computed on the scale and given in the natural unit (`unit`),
    at the typical value of the right side. The interval touches the bound exactly when p touches
    the boundary, and it holds over all looks together. If looking stopped early because the answer
    was clear, the estimate is on average too far from the bound.
    """

    label: str
    kind: Literal["difference", "share", "run"] = "difference"
    """`run` compares one run, or the mean of a few, with a documented number as the bound."""
    unit: str
    bound: float
    below: bool = False
    """True where the claim is that the estimate lies below the bound."""
    width: str = ""
    """The margin around a documented run, in words."""
    plain: float
    """The difference or the ratio of the means, or of their gains, in the metric's unit."""
    scale: str = "identity"
    estimate: float
    low: float
    high: float
    distance: float
    """The distance past the bound; infinite where nothing depends on the seed.

    The unit is one standard deviation over seeds; for a share of runs, a difference of shares.
    """
    correlation: float | None = None
    """Pearson's r of the two sides over paired seeds."""
    needed: bool = True
    """False for an implied comparison, which can only refute."""
    sides: tuple[int, ...] = ()
    """The indices of its sides in `Verdict.samples`, in the order of its label."""
    per_seed: tuple[float, ...] = ()
    """The effect on each seed alone."""

    @property
    def counted(self) -> str:
        """The number of seeds in words; both numbers, if two samples differ in it."""
        if len(set(self.counts)) < 2:
            return f"{self.seeds} seeds"
        return f"{' and '.join(map(str, self.counts))} seeds"

    @property
    def has_spread(self) -> bool:
        """False where every seed gave the same difference."""
        return abs(self.distance) != float("inf")

    @property
    def on_scale(self) -> str:
        """The scale, if its estimate differs visibly from the plain effect; else empty.

        A tenth of the interval's half width is the largest difference that is not visible.
        """
        is_near = abs(self.plain - self.estimate) <= (self.high - self.low) / 20
        is_alike = is_near or f"{self.plain:.3g}" == f"{self.estimate:.3g}"
        has_own_unit = len(self.sides) == 4 and self.scale != "identity"  # a gain
        return self.scale if has_own_unit or not is_alike else ""

    @property
    def amount(self) -> str:
        """The plain effect, and the estimate on its scale with the interval."""
        ends = (self.low, self.high) if self.has_spread else ()
        return amount(self.on_scale, *(f"{x:.3g}" for x in (self.plain, self.estimate, *ends)))

    def __str__(self) -> str:
        """The estimate beside the claim, and how clear it is."""
        mark = "holds" if self.holds else "contradicted" if self.fails else "open"
        mark = mark if self.needed else f"also {mark}"
        p = f"p {self.p_for:.2g}, boundary {self.boundary:.2g}"
        if self.fails:
            opposite = "" if self.kind == "run" else " (of the opposite)"
            p = f"p{opposite} {self.p_against:.2g}, boundary {self.boundary_against:.2g}"
        if self.kind == "run":
            return f"{mark}: {self.label} gives {self.amount}{self._beside(p)}"
        claimed = f"claimed {'<' if self.below else '>'} {self.bound:.3g}"
        p = "the same on every seed" if self.is_constant or not self.has_spread else p
        unit = self.unit.removeprefix(f"{self.on_scale} of ")  # the amount names the scale
        return f"{mark}: {self.label} = {self.amount} {unit}, {claimed}; {p}"

    def _beside(self, p: str) -> str:
        """The second half of the sentence about a run, with the documented number."""
        documented = f"documented is {self.bound:g}"
        unit = "" if self.unit == "ratio" else f" {self.unit}"
        if not self.has_spread:
            lies = "lies" if self.holds else "does not lie"
            return f"{unit}, the same on every seed; {documented}, which {lies} {self.width}"
        if self.fails:
            return f"{unit}; {documented}, outside ({p})"
        shown = "shown" if self.holds else "not shown"
        return f"{unit}; {documented}, inside, and {shown} to lie {self.width} ({p})"


def amount(on_scale: str, plain: str, estimate: str, *ends: str) -> str:
    """Return an effect with its interval; without `ends` where nothing depends on the seed.

    >>> amount("", "0.0202", "0.0199", "0.01", "0.03")
    '0.0202 [0.01, 0.03]'
    >>> amount("log-odds", "-0.0023", "-0.000251", "-0.0033", "0.003")
    '-0.0023, on log-odds -0.000251 [-0.0033, 0.003]'
    """
    scaled = f", on {on_scale} {estimate}" if on_scale else ""
    interval = f" [{', '.join(ends)}]" if ends else ""
    return f"{plain}{scaled}{interval}"
