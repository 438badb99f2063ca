"""The term about the share of runs in which a comparison holds: exact binomial tests.

A mean is ruled by its extremes. Where some seeds collapse, an arm can be better in nine runs of ten
and worse in the mean; what is claimed then is a share of the runs, and that of one half is a claim
about the median.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc, betaincinv  # type: ignore[import-untyped]

from repro.judge.differences import Comparison, require_paired
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence
from repro.judge.scale import Scale
from repro.judge.statistic import Count
from repro.judge.student import MOST_SEEDS
from repro.judge.terms import Context, Readings, Side


@dataclass(frozen=True)
class ShareOfRuns:
    """The term that a comparison holds in at least this share of all runs there could be."""

    comparison: Comparison
    at_least: float

    @property
    def scale(self) -> Scale:
        return self.comparison.scale

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.comparison.sides

    def weigh(self, readings: Readings) -> Evidence:
        """Test the number of runs in which it holds against the share, in both directions."""
        require_paired(self.comparison, "in_at_least=…")
        differences = self.comparison.differences(readings)
        runs = len(differences)
        count = self._count(readings)
        few, many = Count(self.at_least, few=True), Count(self.at_least)
        return Evidence(
            mean=count / runs,
            spread=0.0,
            seeds=runs,
            p_for=many.p(count, runs),
            p_against=few.p(count, runs),
            statistic_for=many,
            statistic_against=few,
            alike=self.comparison.weigh(readings).alike,
        )

    def _count(self, readings: Readings) -> Any:
        left, right = self.comparison.parts(readings)
        largest = np.maximum(np.abs(left).max(axis=0), np.abs(right).max(axis=0))
        return (self.comparison.differences(readings) > ROUNDING * largest).sum(axis=0)

    def is_trivial(self, readings: Readings) -> Any:
        return False

    def report(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        runs, count = evidence.seeds, int(self._count(readings))
        sign = "<" if self.comparison.below else ">"
        bound = self.comparison.bound.label(self.comparison.right.label)
        return Effect(
            kind="share",
            label=f"share of runs with {self.comparison.left.label} {sign} {bound}",
            unit="of the runs",
            bound=self.at_least,
            below=False,
            estimate=count / runs,
            low=float(betaincinv(count, runs - count + 1, context.boundary)) if count else 0.0,
            high=1.0
            if count == runs
            else float(betaincinv(count + 1, runs - count, 1 - context.boundary_against)),
            p_for=float(evidence.p_for),
            p_against=float(evidence.p_against),
            # Where no number of these runs could cross it, there is only the level itself.
            boundary=context.boundary or context.design.one_sided_level,
            boundary_against=context.boundary_against or context.design.one_sided_level,
            seeds=runs,
            distance=count / runs - self.at_least,
            alike=bool(evidence.alike),
            detectable=_detectable(self.at_least, context),
            per_seed=tuple(self.comparison.on_each_seed(readings).tolist()),
        )

    def seeds_needed(self, effect: Effect) -> int | None:
        """The seeds at which one test settles this share, were it the true one."""
        for runs in range(2, MOST_SEEDS + 1):
            counts = np.arange(runs + 1)
            if effect.distance < 0:
                few = counts[
                    Count(self.at_least, few=True).p(counts, runs) <= effect.boundary_against
                ]
                found = bdtr(few[-1], runs, effect.estimate) if few.size else 0.0
            else:
                many = counts[Count(self.at_least).p(counts, runs) <= effect.boundary]
                found = bdtrc(many[0] - 1, runs, effect.estimate) if many.size else 0.0
            if found >= 0.8:
                return runs
        return None


def _detectable(at_least: float, context: Context) -> float:
    """The smallest true share that the last look finds with 80 % power; above 1 where none is."""
    last = context.design.looks[-1]
    statistic, counts = Count(at_least), np.arange(last + 1)
    boundary = context.design.boundary(last, statistic=statistic)
    enough = counts[statistic.p(counts, last) <= boundary]
    if not enough.size:
        return float("inf")
    return float(betaincinv(enough[0], last - enough[0] + 1, 0.8))
