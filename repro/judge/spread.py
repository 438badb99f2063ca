"""The terms that are no means: a standard deviation that should be small, and half of the runs.

The test of a standard deviation is chi-square, and F where the bound is the standard deviation of a
few runs itself: an exact replica of three runs has twice their standard deviation in one case of
five. Both take the values for normal, on the scale they are given in, and depend on it more than a
t test does: a mean of heavy-tailed values is nearly normal, their standard deviation is not what
these tests say however many seeds there are. Each verdict repeats it.

A mean is ruled by its extremes: where some seeds collapse, an arm can be better in nine runs of ten
and worse in the mean. What is claimed of half of the runs is claimed of the median, by a sign test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv  # type: ignore[import-untyped]

from repro.judge.contrast import Contrast, Readings, rounding
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence
from repro.judge.scale import Scale
from repro.judge.statistic import SIGN, Spread


@dataclass(frozen=True, kw_only=True)
class SmallSpread(Contrast):
    """The term that the standard deviation of one side over seeds is at most `at_most`."""

    at_most: float
    half_example: float = 0.0
    """Half an example of a share, which its values may differ by without showing it."""
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
            spread = np.maximum(np.where(fixed, 0.0, spread), self.half_example)
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
            alike=(fixed & (not self.is_exact))[()],
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
            alike=self._weighed(readings).alike,
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
            estimate=share,
            low=float(low),
            high=float(high),
            distance=share - 0.5,
            per_seed=self.on_each_seed(readings),
        )
