"""One comparison of a statement as a verdict reports it, and its sides."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from repro.judge.comparison import Evidence


class EffectSize(StrEnum):
    """An effect beside the documented one: the second word of a verdict."""

    NONE = ""
    """The source has no number for it, or it was not said."""
    AS_DOCUMENTED = "as documented"
    """Both differ by less than half of the documented effect."""
    SMALLER = "smaller"
    """It is smaller than the documented effect, or the opposite of it."""
    LARGER = "larger"
    OPEN = "size open"
    """None of these is shown."""


@dataclass(frozen=True)
class Sample:
    """One side of a statement, with its value on each used seed, in order."""

    label: str
    values: tuple[float, ...]
    is_fixed: bool = False
    """True for a number that the claim names."""
    left_out: frozenset[int] = frozenset()
    """The places of values whose runs repeat others, so that they do not count."""

    @property
    def mean(self) -> float:
        return statistics.fmean(x for i, x in enumerate(self.values) if i not in self.left_out)


@dataclass(frozen=True, kw_only=True)
class Effect(Evidence):
    """One comparison and its evidence, at the look that settled the verdict.

    `estimate`, `low` and `high` are computed on the scale and given in the natural unit (`unit`),
    at the typical value of the right side. On the log scale the unit is the ratio of two arms. The
    interval touches the bound exactly when p touches the boundary, and it holds over all looks
    together. If looking stopped early because the answer was clear, the estimate is on average too
    far from the bound.
    """

    label: str
    kind: Literal["difference", "share", "run", "print"] = "difference"
    """`run` compares one run, or the mean of a few, with a documented number as the bound.

    `print` reads off a printed number.
    """
    unit: str
    bound: float
    below: bool = False
    """True where the claim is that the estimate lies below the bound."""
    width: str = ""
    """The margin around a documented run, in words, or the digits of a printed number."""
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
    documented: float | None = None
    """The documented effect in the same unit, if the claim says it of all arms."""
    effect_size: EffectSize = EffectSize.NONE
    """The effect beside the documented one, for the deciding comparison."""

    word: str = "seeds"
    """The word for what a sample counts: `seeds`, or `runs` where these have no seeds."""

    @property
    def counted(self) -> str:
        """The number of seeds in words; both numbers, if two samples differ in it."""
        counts = self.counts if len(set(self.counts)) > 1 else (self.seeds,)
        return f"{' and '.join(map(str, counts))} {self.word}"

    @property
    def has_spread(self) -> bool:
        """False where every seed gave the same difference."""
        return abs(self.distance) != float("inf")

    @property
    def claimed(self) -> str:
        """What is claimed of the estimate in words; empty where it is only its sign."""
        if self.kind == "print":
            return f", printed {self.width}"
        if self.kind == "run":
            return f", documented {self.bound:g}"
        if self.bound == (1.0 if self.unit == "ratio" else 0.0):
            return ""
        return f", claimed {'<' if self.below else '>'} {self.bound:.3g}"

    @property
    def on_scale(self) -> str:
        """The scale, if the estimate differs visibly from the plain effect; else empty.

        A tenth of the interval's half width is the largest difference that is not visible.
        """
        is_near = abs(self.plain - self.estimate) <= (self.high - self.low) / 20
        is_alike = is_near or f"{self.plain:.3g}" == f"{self.estimate:.3g}"
        has_own_unit = len(self.sides) == 4 and self.scale != "identity"  # a gain
        return self.scale if has_own_unit or not is_alike else ""

    @property
    def beside_documented(self) -> str:
        """The second word with the documented effect; empty without one."""
        if self.documented is None:
            return ""
        is_alike = self.effect_size is EffectSize.AS_DOCUMENTED
        said = "" if is_alike else "documented: "
        return f"{self.effect_size} ({said}{digits(self.documented, self.unit)})"

    @property
    def amount(self) -> str:
        """The estimate and its interval, with the scale if that is seen in the number."""
        return self._amount("times" if self.unit == "ratio" else "")

    def _amount(self, unit: str) -> str:
        if self.kind == "print":  # with two more digits than are printed
            return f"{self.estimate:.{sum(map(str.isdigit, self.width.lstrip('-−0.'))) + 2}g}"
        ends = (self.low, self.high) if self.has_spread and not math.isnan(self.low) else ()
        numbers = [digits(x, self.unit) for x in (self.estimate, *ends)]
        return amount(*numbers, unit=unit, on_scale=self.on_scale)

    def __str__(self) -> str:
        """The estimate beside the claim, and how clear it is."""
        mark = "holds" if self.holds else "contradicted" if self.fails else "open"
        mark = mark if self.needed else f"also {mark}"
        if self.kind == "print":
            return f"{mark}: {self.label} is {self.amount}, printed {self.width}"
        p = f"p {self.p_for:.2g}, boundary {self.boundary:.2g}"
        if self.fails:
            opposite = "" if self.kind == "run" else " (of the opposite)"
            p = f"p{opposite} {self.p_against:.2g}, boundary {self.boundary_against:.2g}"
        unit = "times" if self.unit == "ratio" else self.unit.removeprefix(f"{self.on_scale} of ")
        if self.kind == "run":
            return f"{mark}: {self.label} gives {self._amount(unit)}{self._beside(p)}"
        claimed = f"claimed {'<' if self.below else '>'} {self.bound:.3g}"
        p = "the same on every seed" if self.is_constant or not self.has_spread else p
        p = "its runs are no sample" if math.isnan(self.low) else p
        return f"{mark}: {self.label} = {self._amount(unit)}, {claimed}; {p}"

    def _beside(self, p: str) -> str:
        """The second half of the sentence about a run, with the documented number."""
        documented = f"documented is {self.bound:g}"
        if math.isnan(self.low):
            return f"; {documented}; its runs are no sample"
        if not self.has_spread:
            lies = "lies" if self.holds else "does not lie"
            return f", the same on every seed; {documented}, which {lies} {self.width}"
        if self.fails:
            return f"; {documented}, outside ({p})"
        shown = "shown" if self.holds else "not shown"
        return f"; {documented}, inside, and {shown} to lie {self.width} ({p})"


def digits(value: float, unit: str) -> str:
    """Return a number in three digits; a ratio a little above 1 has four.

    >>> digits(1.0471, "ratio"), digits(0.9714, "ratio"), digits(1.0471, "accuracy")
    ('1.047', '0.971', '1.05')
    """
    return f"{value:.4g}" if unit == "ratio" and 1 <= value < 2 else f"{value:.3g}"


def amount(estimate: str, *ends: str, unit: str = "", on_scale: str = "") -> str:
    """Return an effect with its interval; without `ends` where nothing depends on the seed.

    >>> amount("0.0199", "0.01", "0.03")
    '0.0199 [0.01, 0.03]'
    >>> amount("0.43", "0.4", "0.46", unit="times", on_scale="log")
    '0.43 [0.4, 0.46] times on log'
    """
    interval = f" [{', '.join(ends)}]" if ends else ""
    return f"{estimate}{interval}{unit and f' {unit}'}{on_scale and f' on {on_scale}'}"
