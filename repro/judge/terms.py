"""The terms that are no difference of means: a documented run, and a median.

**A documented run.** A printed number is a sample, like each seed here. So it is compared with the
distribution of one run, not with the mean over seeds alone: its distance from the mean has the
spread of a run plus the error of the mean (the t test of a prediction). The test assumes normal
runs, with the same spread in the source as here. The number is a single draw, so more seeds do not
make up for a heavy tail: if runs are not normal, an exact replica is refuted more often than the
level says. Each verdict says so.

**A median.** Extremes rule a mean: if some seeds collapse, an arm can be better in nine runs of ten
and still worse in the mean. A claim about half of the runs is judged by the sign test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv, stdtr  # type: ignore[import-untyped]

from repro.judge.contrast import Contrast, Readings, rounding
from repro.judge.effect import Effect
from repro.judge.evidence import Evidence
from repro.judge.scale import Array
from repro.judge.statistic import SIGN, Prediction


@dataclass(frozen=True, kw_only=True)
class DocumentedRun(Contrast):
    """The term that `documented` is the mean of `runs` runs like the runs here.

    The arm is compared with the documented number, or with another arm times or plus the number.
    The term holds where the mean behind the document is shown to lie within a width of the mean
    here. It fails where the documented number lies outside the prediction interval of `runs` runs.
    """

    documented: float
    runs: int
    within: float | None = None
    """The margin between the two means, as an amount."""
    within_ratio: float | None = None
    """The margin between the two means, as a ratio."""
    source_paired: bool = True
    """True where the source trained both arms with the same seeds, as is done here."""

    @property
    def width(self) -> str:
        """The required nearness in words."""
        if self.within_ratio is not None:
            return f"within a ratio of {self.within_ratio:g}"
        return f"within {self.within:g}"

    def weigh(self, readings: Readings) -> Evidence:
        """Test the distance of the documented number by the t test of a prediction.

        Without a spread over seeds there is no test: an exact metric lies within the width or not,
        and any other metric is no evidence.
        """
        self.require_paired("agrees_with(…)")
        left, right = self.halves(readings)
        seeds, mean = len(left), (left - right).mean(axis=0)
        inside, statistic = self._inside(mean, right), Prediction(self.runs)
        # If the source did not pair its arms, its difference has the variances of both arms. The
        # test uses the degrees of freedom of one arm, which is fewer than there are.
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
        """Return the distance of the mean difference from the nearer edge of the width.

        It is on the scale; an edge outside of its domain is infinitely far.
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
    """Return a number of runs in words, for the mean of them that a source printed."""
    return "one run" if runs == 1 else f"the mean of {runs} runs"


class InHalfOfRuns(Contrast):
    """The term that a comparison holds in at least half of all possible runs."""

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
