"""The terms that are no difference of means: a documented run, a standard deviation, a median.

**A documented run.** A number that a source printed is a sample, as each seed here is. So it is
held against what one run gives, and not against the mean over seeds as if it were exact: its
distance from that mean has the spread of a run, and the error of the mean besides (the t test of a
prediction). That takes runs of the source to spread as much as those here do, and to be normal: the
number is one draw, and no number of seeds averages its tail away. Where runs are not normal, an
exact replica is refuted more often than the level says. Each verdict repeats it.

**A standard deviation.** The test is chi-square, and F where the bound is the standard deviation of
a few runs itself: an exact replica of three runs has twice their standard deviation in one case of
five. Both take the values for normal, on the scale they are given in, and depend on it more than a
t test does, however many seeds there are. Each verdict repeats it.

**A median.** A mean is ruled by its extremes: where some seeds collapse, an arm can be better in
nine runs of ten and worse in the mean. What holds in half of the runs is tested by their signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtr  # type: ignore[import-untyped]

from repro.judge.contrast import Contrast, Readings, rounding
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence
from repro.judge.scale import Array, Scale
from repro.judge.statistic import SIGN, Prediction, Spread


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
        seeds, mean = len(left), (left - right).mean(axis=0)
        inside, statistic = self._inside(mean, right), Prediction(self.runs)
        # Runs of a source that did not pair its arms spread as both arms together. That has more
        # degrees of freedom than it is given, which are those of one arm.
        here = (left - right).var(axis=0, ddof=1)
        apart = left.var(axis=0, ddof=1) + right.var(axis=0, ddof=1)
        least = self.scale.half_example(left) ** 2
        of_source = np.maximum(here if self.source_paired else apart, least) / self.runs
        error = np.sqrt(of_source + np.maximum(here, least) / seeds)
        run = error / statistic.errors(seeds)
        fixed = run <= rounding(left, right)
        t, t_inside = np.abs(mean) / np.where(fixed, 1, error), inside / np.where(fixed, 1, error)
        read_off = np.where(inside >= 0, 0.0, 1.0)
        return Evidence(
            inside,
            np.where(fixed, 0.0, here**0.5)[()],
            seeds,
            error=np.where(fixed, 0.0, error)[()],
            fixed_variance=np.where(fixed, 0.0, error / statistic.errors(seeds))[()] ** 2
            / self.runs,
            freedom=seeds - 1,
            p_for=np.where(fixed, read_off, stdtr(seeds - 1, -t_inside))[()],
            p_against=np.where(fixed, 1.0 - read_off, 2 * stdtr(seeds - 1, -t))[()],
            statistic_for=statistic,
            statistic_against=Prediction(self.runs, two_sided=True),
            is_constant=(fixed & (not self.is_exact))[()],
        )

    def describe(self, evidence: Evidence, readings: Readings) -> Effect:
        left, right = self.halves(readings)
        mean, seeds, statistic = float((left - right).mean()), evidence.seeds, Prediction(self.runs)
        critical = statistic.critical(evidence.boundary_against / 2, seeds)
        ends = mean - critical * evidence.error, mean + critical * evidence.error
        estimate, low, high = self.natural(right, mean, *ends)
        spread = float(evidence.error) / statistic.errors(seeds)
        label, start = self.label, 0.0
        per_seed = self.on_each_seed(readings)
        if self.sides[1].is_fixed:
            label, start = self.sides[0].label, self.documented
            per_seed = tuple(readings[self.sides[0]].tolist())
        certain = float("inf" if evidence.mean >= 0 else "-inf")
        return Effect(
            **vars(evidence),
            kind="run",
            label=f"{runs_of(self.runs)} of {label}",
            unit=self.unit,
            bound=self.documented,
            width=self.width,
            plain=start + self.of_means(readings, estimate),
            scale=self.scale.name,
            estimate=start + estimate,
            low=start + low,
            high=start + high,
            distance=float(evidence.mean) / spread if spread else certain,
            per_seed=per_seed,
        )

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


def runs_of(runs: int) -> str:
    """The words for how many runs a source printed the mean of."""
    return "one run" if runs == 1 else f"the mean of {runs} runs"


@dataclass(frozen=True, kw_only=True)
class SmallSpread(Contrast):
    """The term that the standard deviation of one side over seeds is at most `at_most`."""

    at_most: float
    runs: int = 0
    """The number of runs whose standard deviation `at_most` is; 0 where it is a fixed number."""
    scale = Scale("identity")

    def weigh(self, readings: Readings) -> Evidence:
        """Test the spread by chi-square, or by F.

        Values within rounding of each other have none, which is certain only if they are exact: a
        share may differ by half an example, others do not use their seed.
        """
        values = readings[self.sides[0]]
        seeds = len(values)
        spread = values.std(axis=0, ddof=1)
        fixed = spread <= ROUNDING * np.abs(values).max(axis=0)
        if not self.is_exact:
            examples = self.sides[0].scale.count
            floor = 0.5 / examples if examples else 0.0
            spread = np.maximum(np.where(fixed, 0.0, spread), floor)
            fixed = spread == 0
        squares = (seeds - 1) * (spread / self.at_most) ** 2
        small, large = self._statistics
        # On a log scale one value has a variance of a half, and so has one of the source's.
        printed = 1 / (2 * self.runs - 2) if self.runs else 0.0
        return Evidence(
            np.where(fixed, np.inf, np.log(self.at_most / np.where(fixed, 1.0, spread)))[()],
            None,
            seeds,
            error=(0.5 / seeds + printed) ** 0.5,
            fixed_variance=printed,
            freedom=seeds - 1,
            p_for=np.where(fixed, 0.0, small.tail(squares, seeds))[()],
            p_against=np.where(fixed, 1.0, large.tail(squares, seeds))[()],
            statistic_for=small,
            statistic_against=large,
            is_constant=(fixed & (not self.is_exact))[()],
        )

    def describe(self, evidence: Evidence, readings: Readings) -> Effect:
        spread, seeds = self.at_most * float(np.exp(-evidence.mean)), evidence.seeds
        small, large = self._statistics
        least = -small.critical(evidence.boundary, seeds)
        most = large.critical(evidence.boundary_against, seeds)
        return Effect(
            **vars(evidence),
            kind="spread",
            label=f"sd of {self.sides[0].label}",
            unit=self.metric,
            bound=self.at_most,
            below=True,
            plain=spread,
            estimate=spread,
            low=spread * float((seeds - 1) / most) ** 0.5,
            high=spread * float((seeds - 1) / least) ** 0.5,
            distance=float(evidence.mean),
            per_seed=tuple(readings[self.sides[0]].tolist()),
        )

    @property
    def _statistics(self) -> tuple[Spread, Spread]:
        """The statistics for which a small and a large spread are evidence."""
        return Spread(large=False, runs=self.runs), Spread(large=True, runs=self.runs)


class InHalfOfRuns(Contrast):
    """The term that a comparison holds in at least half of all runs there could be."""

    def weigh(self, readings: Readings) -> Evidence:
        """Test the number of runs in which it holds, beyond rounding, by the sign test."""
        self.require_paired("in_at_least=…")
        holds = self.differences(readings) > rounding(*self.halves(readings))
        count, runs = holds.sum(axis=0), len(holds)
        return Evidence(
            count / runs - 0.5,
            holds.std(axis=0, ddof=1),
            runs,
            error=runs**-0.5,
            freedom=runs - 1,
            p_for=SIGN.p(count, runs),
            p_against=SIGN.p(runs - count, runs),
            statistic_for=SIGN,
            statistic_against=SIGN,
            is_constant=self._weighed(readings).is_constant,
        )

    def describe(self, evidence: Evidence, readings: Readings) -> Effect:
        runs, share = evidence.seeds, float(evidence.mean) + 0.5
        count, most = round(share * runs), 1 - evidence.boundary_against
        low = betaincinv(count, runs - count + 1, evidence.boundary) if count else 0.0
        high = betaincinv(count + 1, runs - count, most) if count < runs else 1.0
        left, right = self.sides
        sign, bound = "<" if self.below else ">", self.bound.label(right.label)
        return Effect(
            **vars(evidence),
            kind="share",
            label=f"share of runs with {left.label} {sign} {bound}",
            unit="of the runs",
            bound=0.5,
            plain=share,
            estimate=share,
            low=float(low),
            high=float(high),
            distance=share - 0.5,
            per_seed=self.on_each_seed(readings),
        )
