"""The term about a standard deviation over seeds that should be small.

It is the chi-square test, and the F test where the bound is the standard deviation of a few runs
itself: an exact replica of three runs has twice their standard deviation in one case of five.

Both take the values for normal, on the scale they are given in, and depend on it more than a t test
does: a mean of heavy-tailed values is nearly normal, their standard deviation is not what these
tests say however many seeds there are. Each verdict repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import chdtr, chdtrc  # type: ignore[import-untyped]

from repro.judge.design import Design, simulated_looks
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence
from repro.judge.scale import Scale
from repro.judge.statistic import Spread
from repro.judge.student import MOST_SEEDS
from repro.judge.terms import Context, Readings, Side
from repro.judge.unusual import unusual


@dataclass(frozen=True)
class SmallSpread:
    """The term that the standard deviation of `arm` over seeds is at most `at_most`."""

    arm: Side
    metric: str
    at_most: float
    half_example: float = 0.0
    """Half an example of a share, which its values may differ by without showing it."""
    runs: int = 0
    """The number of runs whose standard deviation `at_most` is; 0 where it is a fixed number."""

    @property
    def scale(self) -> Scale:
        return Scale("identity")

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
        return Evidence(
            mean=values.mean(axis=0),
            spread=np.where(fixed, 0.0, spread)[()],
            seeds=seeds,
            p_for=np.where(fixed, 0.0, small.tail(squares, seeds))[()],
            p_against=np.where(fixed, 1.0, large.tail(squares, seeds))[()],
            statistic_for=small,
            statistic_against=large,
            alike=(fixed & (not self.arm.is_exact))[()],
        )

    def is_trivial(self, readings: Readings) -> Any:
        return False

    def report(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        spread, seeds = float(evidence.spread), evidence.seeds
        least, most = self._quantiles(context.boundary, context.boundary_against, seeds)
        return Effect(
            kind="spread",
            label=f"sd of {self.arm.label}",
            unit=self.metric,
            bound=self.at_most,
            below=True,
            estimate=spread,
            low=spread * ((seeds - 1) / most) ** 0.5,
            high=spread * ((seeds - 1) / least) ** 0.5,
            p_for=float(evidence.p_for),
            p_against=float(evidence.p_against),
            boundary=context.boundary,
            boundary_against=context.boundary_against,
            seeds=seeds,
            distance=float(np.log(self.at_most / spread)) if spread else float("inf"),
            detectable=self.at_most * _detectable(context.design, self._statistics[0]),
            alike=bool(evidence.alike),
            unusual=unusual(readings[self.arm]) if spread else (),
            per_seed=tuple(readings[self.arm].tolist()),
        )

    def seeds_needed(self, effect: Effect) -> int | None:
        """The seeds at which one test settles this spread, were it the true one."""
        ratio = effect.estimate / self.at_most
        for seeds in range(2, MOST_SEEDS + 1):
            least, most = self._quantiles(effect.boundary, effect.boundary_against, seeds)
            small = chdtr(seeds - 1, least / ratio**2)
            large = chdtrc(seeds - 1, most / ratio**2)
            if (small if ratio < 1 else large) >= 0.8:
                return seeds
        return None

    @property
    def _statistics(self) -> tuple[Spread, Spread]:
        """The statistics for which a small and a large spread are evidence."""
        return Spread(large=False, runs=self.runs), Spread(large=True, runs=self.runs)

    def _quantiles(self, confirm: float, refute: float, seeds: int) -> tuple[Any, Any]:
        """The sums of squares, in units of the bound, below which it holds, or above it fails."""
        small, large = self._statistics
        return -small.critical(confirm, seeds), large.critical(refute, seeds)


@lru_cache(maxsize=64)
def _detectable(design: Design, small: Spread) -> float:
    """The largest ratio of spread to bound that is found with 80 % power, by simulation.

    The bound is what it is: a documented one has been printed.
    """
    _, spreads = simulated_looks(design.looks)
    seeds = np.array(design.looks)
    least = -np.array(
        [small.critical(design.boundary(n, statistic=small), n) for n in design.looks]
    )
    # Each look of each draw is settled by ratios up to this one; earlier refutations are too rare.
    largest = np.sqrt(least / (seeds - 1)) / spreads
    return float(np.quantile(largest.max(axis=1), 0.2))
