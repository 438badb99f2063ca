"""The terms that are no difference of means: a documented run, a median, and a share of runs.

**A documented run.** A printed number is a sample, like each seed here. So it is compared with the
distribution of one run, not with the mean over seeds alone: its distance from the mean has the
spread of a run plus the error of the mean (the t test of a prediction; for a single case, Crawford
and Howell 1998). The test assumes normal runs, with the same spread in the source as here. The
number is a single draw, so more seeds do not make up for a heavy tail: if runs are not normal, an
exact replica is refuted more often than the level says. Each verdict says so. The same test gives a
verdict its second word, of a documented effect.

**A median.** Extremes rule a mean: if some seeds collapse, an arm can be better in nine runs of ten
and still worse in the mean. A claim about half of the runs is judged by the sign test.

**A share of runs.** Runs that succeed or fail are counted. Two samples are compared by Fisher's
exact test, pairs by the exact test of McNemar, and a share with a number by the binomial test. Each
has an interval of its own: of the ratio of the odds, or of the share (Clopper and Pearson).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import (  # type: ignore[import-untyped]
    bdtr,
    betaincinv,
    betaln,
    expit,
    logit,
    logsumexp,
    stdtr,
)

from repro.judge.comparison import Evidence
from repro.judge.contrast import Contrast, Readings, rounding
from repro.judge.effect import Effect, EffectSize
from repro.judge.looks import Design
from repro.judge.scale import Array
from repro.judge.statistic import COUNTED, SIGN, Prediction

WITHIN = 0.5
"""An effect is as documented within this share of the documented one."""


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
        differences, least = left - right, self.scale.half_example(left) ** 2
        error = error_of_both(
            (left, right), differences, runs=self.runs, paired=self.source_paired, least=least
        )
        run = error / statistic.errors(seeds)
        fixed = run <= rounding(left, right)
        t, t_inside = np.abs(mean) / np.where(fixed, 1, error), inside / np.where(fixed, 1, error)
        read_off = np.where(inside >= 0, 0.0, 1.0)
        return Evidence(
            inside,
            np.where(fixed, 0.0, differences.std(axis=0, ddof=1))[()],
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


def error_of_both(
    sides: Sequence[Array], differences: Array, *, runs: int, paired: bool, least: Any
) -> Any:
    """Return the error of the distance of the mean difference here from that of a source's runs.

    If the source did not pair its arms, its difference has the variances of all `sides`. The test
    uses the degrees of freedom of one arm, which is fewer than there are.
    """
    here = differences.var(axis=0, ddof=1)
    of_source = here if paired else sum(each.var(axis=0, ddof=1) for each in sides)
    return np.sqrt(np.maximum(of_source, least) / runs + np.maximum(here, least) / len(differences))


def effect_size(
    term: Contrast, readings: Readings, design: Design, *, among: int
) -> tuple[EffectSize, float | None]:
    """Return the second word for a comparison, and the documented effect in its natural unit.

    The difference of both effects is tested as in `agrees_with`, on the scale of the comparison and
    without the bound of the claim. Its thresholds hold over all looks. They are shared among the
    comparisons of a statement, since the weakest of these is chosen by its values.

    There is none without a number for each arm, and none for a number that is judged itself.
    """
    printed = [side.documented for side in term.sides if not side.is_fixed]
    known = [each for each in printed if each is not None]
    is_plain = type(term) is Contrast and term.is_paired and not term.is_exact
    if not known or len(known) < len(printed) or not is_plain or design.at_any_time:
        return EffectSize.NONE, None
    plain = Contrast(term.sides)
    numbers = {
        side: readings[side][:1] if side.documented is None else np.array([side.documented.number])
        for side in term.sides
    }
    documented = float(np.subtract(*plain.halves(numbers))[0])
    left, right = plain.halves(readings)
    seeds, differences = len(left), left - right
    runs = min(each.runs for each in known)
    error = error_of_both(
        plain.on_scale(readings),
        differences,
        runs=runs,
        paired=all(each.paired for each in known),
        least=term.scale.half_example(left) ** 2,
    )
    natural = _natural(term, [float(numbers[side][0]) for side in term.sides], documented)
    if documented == 0 or error <= rounding(left, right):
        return EffectSize.OPEN, natural
    gap = float(differences.mean()) - documented
    outside = (abs(gap) - WITHIN * abs(documented)) / error
    if stdtr(seeds - 1, outside) <= design.boundary(
        seeds, share=1 / among, statistic=Prediction(runs)
    ):
        return EffectSize.AS_DOCUMENTED, natural
    if 2 * stdtr(seeds - 1, -abs(gap) / error) > design.boundary(
        seeds, share=1 / among, statistic=Prediction(runs, two_sided=True)
    ):
        return EffectSize.OPEN, natural
    return (EffectSize.SMALLER if gap * documented < 0 else EffectSize.LARGER), natural


def _natural(term: Contrast, numbers: list[float], on_scale: float) -> float:
    """Return a documented effect in the unit in which the comparison is described."""
    if term.is_gain:
        return on_scale if term.times is None else float(np.exp(on_scale))
    return numbers[0] - numbers[1] if term.times is None else numbers[0] / numbers[1]


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


class OddsOfSuccess(Contrast):
    """The term that runs of the first side succeed more often than those of the second.

    A share is compared by its log-odds, and two shares by the log of the ratio of their odds.
    """

    @property
    def label(self) -> str:
        left, right = self.sides
        if self.number is None:
            return f"odds of {left.label} / {right.label}"
        return f"share of {(right if left.is_fixed else left).label}"

    @cached_property
    def number(self) -> float | None:
        """The number that a share is compared with; None for two shares."""
        fixed = [side for side in self.sides if side.is_fixed]
        return float(fixed[0].values(1)[0]) if fixed else None

    def weigh(self, readings: Readings) -> Evidence:
        """Test the counts by the exact test for their kind."""
        values = [readings[side] for side in self.sides]
        shares = [float(each.mean()) for each in values]
        counts = [len(each) for each in values]
        at = 0.0 if self.number is None else float(logit(self.number))
        more, less = self._tails(readings, at)
        if self.sides[0].is_fixed:
            more, less = less, more
        pooled = sum(each.sum() for each in values) / sum(counts)
        spread = max((pooled * (1 - pooled)) ** 0.5, 0.5 / min(counts))
        return Evidence(
            shares[0] - shares[1],
            spread,
            min(counts),
            error=spread * (1 / counts[0] + 1 / counts[1]) ** 0.5,
            freedom=min(counts) - 1,
            p_for=more,
            p_against=less,
            statistic_for=COUNTED,
            statistic_against=COUNTED,
            counts=() if self.is_paired else tuple(counts),
        )

    def describe(self, evidence: Evidence, readings: Readings) -> Effect:
        """Describe it by the share, or the ratio of odds, and the interval of its test."""
        up, down = evidence.boundary, evidence.boundary_against
        if self.sides[0].is_fixed:
            up, down = down, up
        ends = self._end(readings, 0, up), self._end(readings, 1, down)
        number, values = self.number, [readings[side] for side in self.sides]
        if number is None:
            yes, no = [each.sum() for each in values], [(1 - each).sum() for each in values]
            if self.is_paired:
                yes, no = [(values[0] > values[1]).sum(), 0.0], [(values[0] < values[1]).sum(), 0.0]
            odds = [(a + 0.5) / (b + 0.5) for a, b in zip(yes, no, strict=True)]
            estimate, low, high = odds[0] / odds[1], *np.exp(ends)
        else:
            estimate = values[self.sides[0].is_fixed].mean()
            low, high = expit(ends)
        return Effect(
            **vars(evidence),
            kind="share",
            label=self.label,
            unit="ratio" if number is None else "of the runs",
            bound=1.0 if number is None else number,
            below=self.sides[0].is_fixed,
            plain=float(estimate),
            estimate=float(estimate),
            low=float(low),
            high=float(high),
            distance=float(evidence.mean),
        )

    def _tails(self, readings: Readings, at: float) -> tuple[float, float]:
        """Return the chance of as many successes or more, and of as many or fewer.

        `at` is the true log-odds of a share, or the true log of the ratio of two odds.
        """
        left, right = (readings[side] for side in self.sides)
        if self.number is not None:
            values = right if self.sides[0].is_fixed else left
            self.scale.of(values, f"{self.metric} of {self.label.removeprefix('share of ')}")
            return _binomial_tails(int(values.sum()), len(values), at)
        for side, values in zip(self.sides, (left, right), strict=True):
            self.scale.of(values, f"{self.metric} of {side.label}")
        if self.is_paired:
            first, other = int((left > right).sum()), int((left < right).sum())
            return _binomial_tails(first, first + other, at)
        successes, all_of_them = int(left.sum()), int(left.sum() + right.sum())
        possible = np.arange(max(0, all_of_them - len(right)), min(len(left), all_of_them) + 1)
        logs = -betaln(possible + 1, len(left) - possible + 1)
        rest = all_of_them - possible
        logs = logs - betaln(rest + 1, len(right) - rest + 1) + at * possible
        chances = np.exp(logs - logsumexp(logs))
        more, less = chances[possible >= successes].sum(), chances[possible <= successes].sum()
        return min(1.0, float(more)), min(1.0, float(less))

    def _end(self, readings: Readings, tail: int, p: float) -> float:
        """Return the end of the interval: where this tail has the chance `p`, on the scale."""
        low, high = -40.0, 40.0
        for _ in range(60):
            middle = (low + high) / 2
            is_beyond = self._tails(readings, middle)[tail] <= p
            if is_beyond == (tail == 0):
                low = middle
            else:
                high = middle
        found = (low + high) / 2
        return found if abs(found) < 39 else float(np.copysign(np.inf, found))


def _binomial_tails(count: int, runs: int, log_odds: float) -> tuple[float, float]:
    """Return the chance of at least `count` of `runs`, and of at most `count`."""
    chance = float(expit(log_odds))
    return float(bdtr(runs - count, runs, 1 - chance)), float(bdtr(count, runs, chance))
