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

from dataclasses import dataclass
from typing import Any

import numpy as np

from repro.judge.contrast import Contrast, Readings, rounding
from repro.judge.effect import Effect
from repro.judge.evidence import Evidence
from repro.judge.looks import Design
from repro.judge.scale import Array
from repro.judge.statistic import Prediction, tail


@dataclass(frozen=True, kw_only=True)
class DocumentedRun(Contrast):
    """The term that `documented` is the mean of `runs` runs of what is measured here.

    The arm is compared with the documented number, or with another arm times or plus it. The term
    holds where the document's own mean is shown to lie within the width of the mean here. It fails
    where the documented number lies outside of what so many runs give.
    """

    documented: float
    runs: int
    within: float | None = None
    """The amount within which the number must lie for its agreement to count."""
    within_ratio: float | None = None
    """The same as a ratio."""
    source_paired: bool = True
    """True where the source ran both arms at the same seeds, as they are run here."""

    @property
    def width(self) -> str:
        """The words for how near is near enough."""
        if self.within_ratio is not None:
            return f"within a ratio of {self.within_ratio:g}"
        return f"within {self.within:g}"

    def weigh(self, readings: Readings) -> Evidence:
        """Test the distance of the documented number by the t test of a prediction.

        Where no seed differs there is no spread to infer from. If it is exact the number is then
        within the width, or it is not; if not, it is no evidence.
        """
        self.require_paired("agrees_with(…)")
        left, right = self.halves(readings)
        seeds, apart = len(left), left - right
        mean, spread = apart.mean(axis=0), self._spread(left, right)
        fixed = spread <= rounding(left, right)
        run = np.where(fixed, 0.0, spread)
        error = np.where(fixed, 1.0, spread) * self._errors(seeds)
        inside = self._inside(mean, right)
        p_for = tail(inside / error, seeds - 1)
        p_against = 2 * tail(np.abs(mean) / error, seeds - 1)
        return Evidence(
            inside,
            np.where(fixed, 0.0, apart.std(axis=0, ddof=1))[()],
            seeds,
            error=(run * self._errors(seeds))[()],
            fixed_variance=(run**2 / self.runs)[()],
            freedom=seeds - 1,
            p_for=np.where(fixed, np.where(inside >= 0, 0.0, 1.0), p_for)[()],
            p_against=np.where(fixed, np.where(inside >= 0, 1.0, 0.0), p_against)[()],
            statistic_for=Prediction(self.runs),
            statistic_against=Prediction(self.runs, two_sided=True),
            alike=(fixed & (not self.is_exact))[()],
        )

    def describe(
        self, evidence: Evidence, readings: Readings, design: Design, terms: int
    ) -> Effect:
        left, right = self.halves(readings)
        seeds, inside = evidence.seeds, float(evidence.mean)
        mean, spread = float((left - right).mean()), float(evidence.error) / self._errors(seeds)
        two_sided = Prediction(self.runs, two_sided=True)
        half_width = two_sided.critical(evidence.boundary_against, seeds) * evidence.error
        estimate, low, high = self.natural(right, mean, mean - half_width, mean + half_width)
        telling = self._telling(design)
        at, further = self.scale.back(right.mean() + np.array([0.0, telling * spread])).tolist()
        is_of_one_arm = self.sides[1].is_fixed
        start = self.documented if is_of_one_arm else 0.0
        per_seed = tuple(readings[self.sides[0]].tolist())
        return Effect(
            **vars(evidence),
            kind="run",
            label=f"{runs_of(self.runs)} of {self.sides[0].label if is_of_one_arm else self.label}",
            unit=self.unit,
            bound=self.documented,
            width=self.width,
            estimate=start + estimate,
            low=start + low,
            high=start + high,
            distance=inside / spread if spread else float("inf" if inside >= 0 else "-inf"),
            detectable=further - at if self.within_ratio is None else further / at,
            detectable_in_sd=telling,
            per_seed=per_seed if is_of_one_arm else self.on_each_seed(readings),
        )

    def _errors(self, seeds: int) -> float:
        """The standard error of the distance from the mean, in spreads of one run."""
        return float((1 / self.runs + 1 / seeds) ** 0.5)

    def _spread(self, left: Array, right: Array) -> Any:
        """The standard deviation of one run, such that the distance has the error it should.

        Runs of a source that did not pair its arms spread as both arms together. That has more
        degrees of freedom than it is given, which are those of one arm.
        """
        here = (left - right).var(axis=0, ddof=1)
        apart = left.var(axis=0, ddof=1) + right.var(axis=0, ddof=1)
        there = here if self.source_paired else apart
        least, seeds = self.scale.half_example(left) ** 2, len(left)
        variance = np.maximum(there, least) / self.runs + np.maximum(here, least) / seeds
        return np.sqrt(variance) / self._errors(seeds)

    def _inside(self, mean: Any, right: Array) -> Any:
        """Return the distance of the mean difference from the edge of the width, on the scale.

        No share lies beyond 0 or 1.
        """
        what = f"{self.metric} of {self.sides[1].label} {self.width}"
        here = np.asarray(self.scale.back(right.mean(axis=0)), dtype=np.float64)
        ends = here - (self.within or 0.0), here + (self.within or 0.0)
        if self.within_ratio is not None:
            ends = here / self.within_ratio, here * self.within_ratio
        room = []
        for end in ends:
            beyond = ~self.scale.has(end)
            reached = self.scale.of(np.where(beyond, here, end), what)
            room.append(np.where(beyond, np.inf, np.abs(reached - self.scale.of(here, what))))
        return np.minimum(mean + room[0], room[1] - mean)

    def _telling(self, design: Design) -> float:
        """The width, in spreads of one run, at which a run of the very same is shown to be one.

        With about 80 % power at the last look: so wide a statement says something. The run lies
        0.8 standard errors away on average, with a deviation of 0.6; the spread that is measured
        varies too.
        """
        last, statistic = design.looks[-1], Prediction(self.runs)
        t = float(statistic.critical(design.boundary(last, statistic=statistic), last))
        deviation = (0.6**2 + t**2 / (2 * last - 2)) ** 0.5
        return float(t + 0.8 + 0.84 * deviation) * self._errors(last)


def runs_of(runs: int) -> str:
    """The words for how many runs a source printed the mean of."""
    return "one run" if runs == 1 else f"the mean of {runs} runs"
