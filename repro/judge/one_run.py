"""The term that a documented number is one run, or the mean of a few, of what is measured here.

A number that a source printed is a sample, as each seed here is. So it is held against what one run
gives, and not against the mean over seeds as if it were exact: its distance from that mean has the
spread of a run, and the error of the mean besides (the t test of a prediction). That takes runs of
the source to spread as much as those here do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from repro.judge.design import Design, simulated_looks
from repro.judge.differences import Comparison, require_paired
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence
from repro.judge.scale import Array, Scale
from repro.judge.shrinkage import Excess
from repro.judge.statistic import Prediction
from repro.judge.student import seeds_to_exceed, tail
from repro.judge.terms import Context, Readings, Side
from repro.judge.unusual import unusual

_SEED = 7


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
class OneRun:
    """The term that `documented` is the mean of `runs` runs of what is measured here.

    `comparison` holds the arm against the documented number, or against another arm times or plus
    it. The term holds where the document's own mean is shown to lie within the width of the mean
    here. It fails where the documented number lies outside of what so many runs give. `paired` says
    that the source ran both arms at the same seeds, as they are run here.
    """

    comparison: Comparison
    documented: float
    runs: int
    width: Width
    paired: bool = True

    @property
    def scale(self) -> Scale:
        return self.comparison.scale

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.comparison.sides

    def weigh(self, readings: Readings) -> Evidence:
        """Test the distance of the documented number by the t test of a prediction.

        Where no seed differs there is no spread to infer from. If it is exact the number is then
        within the width, or it is not; if not, it is no evidence.
        """
        require_paired(self.comparison, "agrees_with(…)")
        left, right = self.comparison.parts(readings)
        seeds, mean = len(left), (left - right).mean(axis=0)
        spread = self._spread(left, right)
        fixed = spread <= ROUNDING * np.maximum(np.abs(left), np.abs(right)).max(axis=0)
        error = np.where(fixed, 1.0, spread) * self._errors(seeds)
        inside = self.inside(mean, right)
        p_for = tail(inside / error, seeds - 1)
        p_against = 2 * tail(np.abs(mean) / error, seeds - 1)
        exact = all(side.is_exact for side in self.sides)
        return Evidence(
            mean=mean,
            spread=np.where(fixed, 0.0, spread)[()],
            seeds=seeds,
            p_for=np.where(fixed, np.where(inside >= 0, 0.0, 1.0), p_for)[()],
            p_against=np.where(fixed, np.where(inside >= 0, 1.0, 0.0), p_against)[()],
            statistic_for=Prediction(self.runs),
            statistic_against=Prediction(self.runs, two_sided=True),
            alike=(fixed & (not exact))[()],
        )

    def is_trivial(self, readings: Readings) -> Any:
        return False

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

    def inside(self, mean: Any, right: Array) -> Any:
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

    def report(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        left, right = self.comparison.parts(readings)
        mean, spread, seeds = float(evidence.mean), float(evidence.spread), evidence.seeds
        statistic = Prediction(self.runs, two_sided=True)
        critical = float(statistic.critical(context.boundary_against, seeds))
        half_width = critical * spread * self._errors(seeds)
        inside = float(self.inside(mean, right))
        telling = telling_width(context.design, self.runs)
        at, further = (
            float(self.scale.back(right.mean() + step)) for step in (0.0, telling * spread)
        )
        return Effect(
            kind="run",
            label=f"{runs_of(self.runs)} of {self._what}",
            unit=self.comparison.unit,
            bound=self.documented,
            below=False,
            width=str(self.width),
            estimate=self._natural(readings, mean),
            low=self._natural(readings, mean - half_width),
            high=self._natural(readings, mean + half_width),
            p_for=float(evidence.p_for),
            p_against=float(evidence.p_against),
            boundary=context.boundary,
            boundary_against=context.boundary_against,
            seeds=seeds,
            distance=inside / spread if spread else float("inf" if inside >= 0 else "-inf"),
            excess=Excess(inside, spread, seeds),
            detectable=further / at if self.width.ratio is not None else further - at,
            detectable_in_sd=telling,
            alike=bool(evidence.alike),
            unusual=unusual(left - right) if spread else (),
            per_seed=tuple(self._on_each_seed(readings).tolist()),
        )

    @property
    def _is_of_one_arm(self) -> bool:
        return self.comparison.right.is_fixed

    @property
    def _what(self) -> str:
        return self.comparison.left.label if self._is_of_one_arm else self.comparison.label

    def _natural(self, readings: Readings, difference: float) -> float:
        """Return a run's value in its unit, this far from the documented number on the scale."""
        effect = self.comparison.natural(readings)(difference)
        return self.documented + effect if self._is_of_one_arm else effect

    def _on_each_seed(self, readings: Readings) -> Array:
        if self._is_of_one_arm:
            return readings[self.comparison.left]
        return self.comparison.on_each_seed(readings)

    def seeds_needed(self, effect: Effect) -> int | None:
        """The seeds at which one test settles it, were this distance and this spread the true ones.

        None where none would: the run of the source keeps its spread, however many there are here.
        """
        wrong = effect.distance < 0
        statistic, distance = Prediction(self.runs, two_sided=wrong), effect.distance
        if wrong:  # it is refuted by its distance from the mean, and not from the width
            t = float(statistic.critical(effect.p_against, effect.seeds))
            distance = t * self._errors(effect.seeds)
        boundary = effect.boundary_against if wrong else effect.boundary
        return seeds_to_exceed(
            distance,
            lambda seeds: (
                statistic.critical(boundary, seeds) * np.sqrt(seeds * (1 / self.runs + 1 / seeds))
            ),
        )


def runs_of(runs: int) -> str:
    """The words for how many runs a source printed the mean of."""
    return "one run" if runs == 1 else f"the mean of {runs} runs"


@lru_cache(maxsize=64)
def telling_width(design: Design, runs: int) -> float:
    """The width, in spreads of one run, at which the mean of so many runs is shown to be one.

    With 80 % power, by simulation: so wide a statement says something about what the source ran.
    """
    means, spreads = simulated_looks(design.looks)
    documented = np.random.default_rng(_SEED).standard_normal(len(means)) / runs**0.5
    statistic = Prediction(runs)
    widths = [
        np.abs(documented - means[:, look])
        + statistic.critical(design.boundary(seeds, statistic=statistic), seeds)
        * spreads[:, look]
        * (1 / runs + 1 / seeds) ** 0.5
        for look, seeds in enumerate(design.looks)
    ]
    return float(np.quantile(np.min(widths, axis=0), 0.8))
