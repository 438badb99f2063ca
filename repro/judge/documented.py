"""The term that a documented number is one run, or the mean of a few, of what is measured here.

A number that a source printed is a sample, as each seed here is. So it is held against what one run
gives, and not against the mean over seeds as if it were exact: its distance from that mean has the
spread of a run, and the error of the mean besides (the t test of a prediction). That takes runs of
the source to spread as much as those here do.

It takes them to be normal, too, more than other words do: the number is one draw, and no number of
seeds averages its tail away. Where runs are not normal, an exact replica is refuted more often than
the level says. Each verdict repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from repro.judge.contrast import OfComparison, excess_of, rounding
from repro.judge.effect import Effect
from repro.judge.evidence import Evidence, Excess
from repro.judge.scale import Array
from repro.judge.statistic import Prediction, tail
from repro.judge.terms import Context, Readings, effect_of


@dataclass(frozen=True)
class Width:
    """The distance within which a documented number must lie for its agreement to count."""

    amount: float | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        if (self.amount is None) == (self.ratio is None):
            raise ValueError("say how near is near enough: give within, or within_ratio")
        if self.amount is not None and not 0 < self.amount < float("inf"):
            raise ValueError(f"within={self.amount!r} leaves nothing to show: give a positive one")
        if self.ratio is not None and not 1 < self.ratio < float("inf"):
            raise ValueError(
                f"within_ratio={self.ratio!r} leaves nothing to show: give a ratio above 1, for "
                "example 1.1 for 10 % more or as much less"
            )

    def __str__(self) -> str:
        if self.ratio is not None:
            return f"within a ratio of {self.ratio:g}"
        return f"within {self.amount:g}"

    def around(self, value: Array) -> tuple[Array, Array]:
        """The lowest and the highest number that is as near to a value as this."""
        if self.ratio is not None:
            return value / self.ratio, value * self.ratio
        assert self.amount is not None
        return value - self.amount, value + self.amount


@dataclass(frozen=True)
class DocumentedRun(OfComparison):
    """The term that `documented` is the mean of `runs` runs of what is measured here.

    `comparison` holds the arm against the documented number, or against another arm times or plus
    it. The term holds where the document's own mean is shown to lie within the width of the mean
    here. It fails where the documented number lies outside of what so many runs give. `paired` says
    that the source ran both arms at the same seeds, as they are run here.
    """

    documented: float
    runs: int
    width: Width
    paired: bool = True

    def weigh(self, readings: Readings) -> Evidence:
        """Test the distance of the documented number by the t test of a prediction.

        Where no seed differs there is no spread to infer from. If it is exact the number is then
        within the width, or it is not; if not, it is no evidence.
        """
        self.comparison.require_paired("agrees_with(…)")
        left, right = self.comparison.halves(readings)
        seeds, mean = len(left), (left - right).mean(axis=0)
        spread = self._spread(left, right)
        fixed = spread <= rounding(left, right)
        error = np.where(fixed, 1.0, spread) * self._errors(seeds)
        inside = self._inside(mean, right)
        p_for = tail(inside / error, seeds - 1)
        p_against = 2 * tail(np.abs(mean) / error, seeds - 1)
        run = np.where(fixed, 0.0, spread)
        return Evidence(
            mean=mean,
            spread=(run * self._errors(seeds) * seeds**0.5)[()],
            seeds=seeds,
            freedom=seeds - 1,
            p_for=np.where(fixed, np.where(inside >= 0, 0.0, 1.0), p_for)[()],
            p_against=np.where(fixed, np.where(inside >= 0, 1.0, 0.0), p_against)[()],
            statistic_for=Prediction(self.runs),
            statistic_against=Prediction(self.runs, two_sided=True),
            alike=(fixed & (not self.is_exact))[()],
            fixed_variance=(run**2 / self.runs)[()],
        )

    def describe(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        _, right = self.comparison.halves(readings)
        mean, error, seeds = float(evidence.mean), float(evidence.standard_error), evidence.seeds
        two_sided = Prediction(self.runs, two_sided=True)
        half_width = float(two_sided.critical(context.boundary_against, seeds)) * error
        inside = float(self._inside(mean, right))
        spread = error / self._errors(seeds)
        telling = self._telling(context)
        at, further = (
            float(self.scale.back(right.mean() + step)) for step in (0.0, telling * spread)
        )
        is_of_one_arm = self.comparison.right.is_fixed
        effect = self.comparison.natural(right)
        start = self.documented if is_of_one_arm else 0.0
        of_seeds = readings[self.comparison.left]
        return effect_of(
            evidence,
            context,
            kind="run",
            label=f"{runs_of(self.runs)} of "
            + (self.comparison.left.label if is_of_one_arm else self.comparison.label),
            unit=self.comparison.unit,
            bound=self.documented,
            below=False,
            width=str(self.width),
            estimate=start + effect(mean),
            low=start + effect(mean - half_width),
            high=start + effect(mean + half_width),
            distance=inside / spread if spread else float("inf" if inside >= 0 else "-inf"),
            spread=spread,
            detectable=further / at if self.width.ratio is not None else further - at,
            detectable_in_sd=telling,
            per_seed=tuple(
                (of_seeds if is_of_one_arm else self.comparison.on_each_seed(readings)).tolist()
            ),
        )

    def distance(self, readings: Readings) -> Excess | None:
        left, right = self.comparison.halves(readings)
        inside = float(self._inside((left - right).mean(), right))
        return replace(excess_of(left - right, float(rounding(left, right))), mean=inside)

    def _errors(self, seeds: int) -> float:
        """The standard error of the distance from the mean, in spreads of one run."""
        return float((1 / self.runs + 1 / seeds) ** 0.5)

    def _spread(self, left: Array, right: Array) -> Any:
        """The standard deviation of one run, such that the distance has the error it should.

        Runs of a source that did not pair its arms spread as both arms together. That has more
        degrees of freedom than it is given, which are those of one arm.
        """
        here = (left - right).var(axis=0, ddof=1)
        there = here if self.paired else left.var(axis=0, ddof=1) + right.var(axis=0, ddof=1)
        least = self.scale.half_example(left) ** 2
        seeds = len(left)
        variance = np.maximum(there, least) / self.runs + np.maximum(here, least) / seeds
        return np.sqrt(variance) / self._errors(seeds)

    def _inside(self, mean: Any, right: Array) -> Any:
        """Return the distance of the mean difference from the edge of the width, on the scale."""
        at = right.mean(axis=0)
        here = np.asarray(self.scale.back(at), dtype=np.float64)
        low, high = self.width.around(here)
        above, below = (self._apart(end, here) for end in (high, low))
        return np.minimum(above - mean, mean + below)

    def _apart(self, end: Array, here: Array) -> Any:
        """The distance of an end of the width on the scale; no share lies beyond 0 or 1."""
        what = f"{self.comparison.metric} of {self.comparison.right.label} {self.width}"
        beyond = ~self.scale.has(end)
        ends = self.scale.of(np.where(beyond, here, end), what)
        return np.where(beyond, np.inf, np.abs(ends - self.scale.of(here, what)))

    def _telling(self, context: Context) -> float:
        """The width, in spreads of one run, at which a run of the very same is shown to be one.

        With about 80 % power at the last look: so wide a statement says something. The run lies
        0.8 standard errors away on average, with a deviation of 0.6; the spread that is measured
        varies too.
        """
        design, statistic = context.design, Prediction(self.runs)
        last = design.looks[-1]
        t = float(statistic.critical(design.boundary(last, statistic=statistic), last))
        deviation = (0.6**2 + t**2 / (2 * last - 2)) ** 0.5
        return float(t + 0.8 + 0.84 * deviation) * self._errors(last)


def runs_of(runs: int) -> str:
    """The words for how many runs a source printed the mean of."""
    return "one run" if runs == 1 else f"the mean of {runs} runs"
