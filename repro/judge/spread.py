"""The terms that are no means: a standard deviation that should be small, and a share of the runs.

The test of a standard deviation is chi-square, and F where the bound is the standard deviation of a
few runs itself: an exact replica of three runs has twice their standard deviation in one case of
five. Both take the values for normal, on the scale they are given in, and depend on it more than a
t test does: a mean of heavy-tailed values is nearly normal, their standard deviation is not what
these tests say however many seeds there are. Each verdict repeats it.

The test of a share is binomial. A mean is ruled by its extremes: where some seeds collapse, an arm
can be better in nine runs of ten and worse in the mean. What is claimed then is a share of the
runs, and that of one half is a claim about the median.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv  # type: ignore[import-untyped]

from repro.judge.contrast import OfComparison, excess_of, rounding
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence, Excess
from repro.judge.scale import Scale
from repro.judge.statistic import Count, Spread
from repro.judge.terms import Context, Readings, Side, Term, effect_of


@dataclass(frozen=True)
class SmallSpread(Term):
    """The term that the standard deviation of `arm` over seeds is at most `at_most`."""

    arm: Side
    metric: str
    at_most: float
    half_example: float = 0.0
    """Half an example of a share, which its values may differ by without showing it."""
    runs: int = 0
    """The number of runs whose standard deviation `at_most` is; 0 where it is a fixed number."""
    scale = Scale("identity")

    @property
    def sides(self) -> tuple[Side, ...]:
        return (self.arm,)

    def weigh(self, readings: Readings) -> Evidence:
        """Test the spread by chi-square, or by F.

        Values within rounding of each other have none, which is certain only if they are exact: a
        share may differ by half an example, others do not use their seed.
        """
        values = readings[self.arm]
        seeds = len(values)
        spread = values.std(axis=0, ddof=1)
        fixed = spread <= ROUNDING * np.abs(values).max(axis=0)
        if not self.arm.is_exact:
            spread = np.maximum(np.where(fixed, 0.0, spread), self.half_example)
            fixed = spread == 0
        squares = (seeds - 1) * (spread / self.at_most) ** 2
        small, large = self._statistics
        # On a log scale one value has a variance of a half, and so has one of the source's.
        printed = 1 / (2 * self.runs - 2) if self.runs else 0.0
        return Evidence(
            mean=np.where(fixed, 0.0, spread)[()],
            spread=(0.5 + seeds * printed) ** 0.5,
            seeds=seeds,
            freedom=seeds - 1,
            p_for=np.where(fixed, 0.0, small.tail(squares, seeds))[()],
            p_against=np.where(fixed, 1.0, large.tail(squares, seeds))[()],
            statistic_for=small,
            statistic_against=large,
            alike=(fixed & (not self.arm.is_exact))[()],
            fixed_variance=printed,
        )

    def describe(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        spread, seeds = float(evidence.mean), evidence.seeds
        small, large = self._statistics
        least = -small.critical(context.boundary, seeds)
        most = large.critical(context.boundary_against, seeds)
        last = context.design.looks[-1]
        found = small.critical(context.design.boundary(last, statistic=small), last)
        return effect_of(
            evidence,
            context,
            kind="spread",
            label=f"sd of {self.arm.label}",
            unit=self.metric,
            bound=self.at_most,
            below=True,
            estimate=spread,
            low=spread * float((seeds - 1) / most) ** 0.5,
            high=spread * float((seeds - 1) / least) ** 0.5,
            distance=float(np.log(self.at_most / spread)) if spread else float("inf"),
            spread=spread,
            # The one of which four in five are so small at the last look.
            detectable=self.at_most * float(found / Spread(large=False).critical(0.8, last)) ** 0.5,
            per_seed=tuple(readings[self.arm].tolist()),
        )

    def distance(self, readings: Readings) -> Excess | None:
        values = readings[self.arm]
        spread = max(float(values.std(ddof=1)), self.half_example)
        if spread <= ROUNDING * np.abs(values).max():
            return None
        return Excess(float(np.log(self.at_most / spread)), None, len(values))

    @property
    def _statistics(self) -> tuple[Spread, Spread]:
        """The statistics for which a small and a large spread are evidence."""
        return Spread(large=False, runs=self.runs), Spread(large=True, runs=self.runs)


@dataclass(frozen=True)
class ShareOfRuns(OfComparison):
    """The term that a comparison holds in at least this share of all runs there could be."""

    at_least: float

    def weigh(self, readings: Readings) -> Evidence:
        """Test the number of runs in which it holds against the share, in both directions."""
        self.comparison.require_paired("in_at_least=…")
        holds = self._holds(readings)
        count, runs = holds.sum(axis=0), len(holds)
        few, many = Count(self.at_least, few=True), Count(self.at_least)
        return Evidence(
            mean=count / runs,
            spread=1.0,
            seeds=runs,
            freedom=runs - 1,
            p_for=many.p(count, runs),
            p_against=few.p(count, runs),
            statistic_for=many,
            statistic_against=few,
            alike=self.comparison.weigh(readings).alike,
        )

    def describe(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        runs, share = evidence.seeds, float(evidence.mean)
        count = round(share * runs)
        sign = "<" if self.comparison.below else ">"
        bound = self.comparison.bound.label(self.comparison.right.label)
        confirm, against = context.boundary, context.boundary_against
        # Where no number of these runs could cross it, there is only the level itself.
        level = context.design.one_sided_level
        context = replace(
            context, boundary=context.boundary or level, boundary_against=against or level
        )
        return effect_of(
            evidence,
            context,
            kind="share",
            label=f"share of runs with {self.comparison.left.label} {sign} {bound}",
            unit="of the runs",
            bound=self.at_least,
            below=False,
            estimate=share,
            low=float(betaincinv(count, runs - count + 1, confirm)) if count else 0.0,
            high=float(betaincinv(count + 1, runs - count, 1 - against)) if count < runs else 1.0,
            distance=share - self.at_least,
            spread=1.0,
            detectable=self._detectable(context),
            per_seed=tuple(self.comparison.on_each_seed(readings).tolist()),
        )

    def distance(self, readings: Readings) -> Excess | None:
        return excess_of(self._holds(readings).astype(float) - self.at_least, 0.0)

    def _holds(self, readings: Readings) -> Any:
        """Tell for each run whether it holds there, beyond rounding."""
        least = rounding(*self.comparison.halves(readings))
        return self.comparison.differences(readings) > least

    def _detectable(self, context: Context) -> float:
        """The smallest true share found at the last look with 80 % power; infinite for none."""
        last = context.design.looks[-1]
        statistic, counts = Count(self.at_least), np.arange(last + 1)
        boundary = context.design.boundary(last, statistic=statistic)
        enough = counts[statistic.p(counts, last) <= boundary]
        if not enough.size:
            return float("inf")
        return float(betaincinv(enough[0], last - enough[0] + 1, 0.8))
