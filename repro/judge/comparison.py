"""The test of one comparison over seeds, and the rule by which tests settle a statement.

Seeds are the first axis of an array. So the same code judges one claim and, in the benchmarks,
many thousand simulated claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import (  # type: ignore[import-untyped]
    chdtrc,
    gammaincinv,
    nctdtr,
    stdtr,
    stdtrit,
)

from repro.judge.looks import Design, predictive_power
from repro.judge.scale import Array
from repro.judge.statistic import STUDENT, Statistic

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""The largest relative difference that counts as rounding."""

_TINY = float(np.finfo(np.float64).tiny)

MOST_SEEDS = 200
"""The largest number of seeds that advice names."""

_DOUBTED = 0.01
"""The chance that the variance over seeds is larger than `freedom_with_examples` assumes."""

_DOUBTED_APART, _PER_LEVEL = 0.1, 20
"""The chance that the variance of one sample is larger than `freedom_apart` assumes: the first, or
so many times the p of the test, if that is less."""


@dataclass(frozen=True)
class Excess:
    """The distance of a comparison past its bound, over seeds, on the scale of its test.

    The numbers may be arrays, for many simulated claims at once.
    """

    mean: Any
    spread: Any
    """The standard deviation over seeds."""
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Evidence(Excess):
    """The test of one comparison in both directions; a small `p_for` says that it holds."""

    error: Any
    """The standard error of the mean; it counts the examples, and the few runs of a source."""
    fixed_variance: Any = 0.0
    """The part of the squared error that more seeds do not reduce."""
    examples: int = 0
    """The number of examples behind `fixed_variance`; 0 if it has another cause."""
    freedom: Any
    """The degrees of freedom of the test."""
    p_for: Any
    p_against: Any
    statistic_for: Statistic = STUDENT
    statistic_against: Statistic = STUDENT
    weight: float = 1.0
    """The weight of this comparison among all that can refute the statement.

    Only one of the two sides of a margin can fail, so each of them counts half.
    """
    is_constant: Any = False
    """True where all seeds gave the same value but need not: this is no evidence."""
    counts: tuple[int, ...] = ()
    """The numbers of seeds of independent samples; empty where the seeds are paired."""
    variances: tuple[Any, ...] = ()
    """The squared error of the mean of each sample; one where seeds are paired."""
    is_pooled: bool = False
    """True where one spread was declared, so that all arms together estimate it."""
    boundary: float = 0.0
    """The comparison holds if `p_for` is at most this, at this look."""
    boundary_against: float = 0.0
    """The comparison fails if `p_against` is at most this."""

    @property
    def fails(self) -> Any:
        return (self.p_against <= self.boundary_against) & ~np.asarray(self.is_constant)

    @property
    def holds(self) -> Any:
        return (self.p_for <= self.boundary) & ~np.asarray(self.is_constant) & ~self.fails

    @property
    def over_seeds(self) -> Any:
        """The variance over seeds alone, which contains how seeds differ on single examples."""
        return np.maximum(self.seeds * (self.error**2 - self.fixed_variance), 0.0)

    @property
    def half_width(self) -> Any:
        """Half of the interval: a mean that is just clear of its bound."""
        freedom = self.freedom
        if len(self.counts) > 1 and not self.is_pooled:
            freedom = freedom_apart(self.variances, self.counts, self.boundary)
        return -stdtrit(freedom, self.boundary) * self.error

    def freedom_at(self, seeds: Any) -> Any:
        """The degrees of freedom at another number of seeds, with the same spread over seeds."""
        if self.counts or self.is_pooled:
            return self.freedom * (seeds - 1) / (self.seeds - 1)
        over_seeds = self.over_seeds / seeds
        return freedom_with_examples(self.fixed_variance, over_seeds, seeds, examples=self.examples)


@dataclass(frozen=True)
class Drawn:
    """The variance of a mean because only these `examples` were measured, the same for all seeds.

    More seeds do not reduce it, except its part `of_seeds`: how single runs differ on single
    examples. This part is in the variance over seeds too, so the test errs more rarely.
    """

    variance: float = 0.0
    of_seeds: float = 0.0
    examples: int = 0


ALL_THERE_ARE = Drawn()


@dataclass(frozen=True)
class Group:
    """The values of an independent sample over its seeds, on the scale of the test."""

    values: Array
    floor: Any = 0.0
    """The least spread that is believed: half an example for shares."""
    resolution: Any = 0.0
    """A spread of at most this is rounding."""

    @property
    def spread(self) -> Any:
        spread = self.values.std(axis=0, ddof=1)
        return np.where(spread <= self.resolution, 0.0, spread)


@dataclass(frozen=True)
class SameSpread:
    """The variance over seeds that all arms are said to have, and its degrees of freedom.

    >>> SameSpread.of([np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0])]).freedom
    3
    """

    variance: Any
    freedom: int
    p: Any
    """The p of Bartlett's test (1937) that the arms differ in their spread."""

    @classmethod
    def of(cls, samples: Sequence[Array]) -> SameSpread:
        freedoms = [len(sample) - 1 for sample in samples]
        freedom, spreads = sum(freedoms), [sample.var(axis=0, ddof=1) for sample in samples]
        variance = sum(n * each for n, each in zip(freedoms, spreads, strict=True)) / freedom
        positive = np.maximum([*spreads, variance], _TINY)
        *logs, pooled = np.log(positive)
        statistic = freedom * pooled - sum(n * x for n, x in zip(freedoms, logs, strict=True))
        scatter = sum(1 / n for n in freedoms) - 1 / freedom
        groups = len(samples) - 1
        p = chdtrc(groups, statistic / (1 + scatter / (3 * groups))) if groups else 1.0
        return cls(variance, freedom, p)


def weigh(
    groups: Sequence[Group],
    *,
    exact: bool = False,
    drawn: Drawn = ALL_THERE_ARE,
    same: SameSpread | None = None,
) -> Evidence:
    """Test the sum of the means of independent samples against 0 by t, in both directions.

    Paired differences are one sample. Several samples have the degrees of freedom of
    `freedom_apart`, or if all arms have the `same` spread, those of that.

    Samples without spread need no test if they are `exact`: a positive sum holds; a negative one,
    or 0, does not. Without any spread other samples are no evidence: perhaps the seed does not
    reach the training.

    >>> float(weigh([Group(np.array([1.0, 1.0, 1.0]))], exact=True).p_for)
    0.0
    >>> bool(weigh([Group(np.array([1.0, 1.0, 1.0]))]).is_constant)
    True
    """
    counts = tuple(len(group.values) for group in groups)
    seeds, spreads = min(counts), [group.spread for group in groups]
    mean = sum(group.values.mean(axis=0) for group in groups)
    believed = [
        np.maximum(spread if same is None else same.variance**0.5, 0.0 if exact else group.floor)
        for spread, group in zip(spreads, groups, strict=True)
    ]
    variances = tuple(spread**2 / count for spread, count in zip(believed, counts, strict=True))
    over_seeds: Any = sum(variances)
    error = (over_seeds + drawn.variance) ** 0.5
    none = error == 0
    t = mean / np.where(none, 1.0, error)
    if same is not None:
        freedom: Any = same.freedom
    elif len(groups) > 1:
        freedom = freedom_of_t(variances, counts, np.abs(t))
    else:
        freedom = freedom_with_examples(drawn.variance, over_seeds, seeds, examples=drawn.examples)
    resolution = sum(group.resolution for group in groups)
    read_off = np.where(mean > resolution, 0.0, 1.0) if exact else 1.0
    read_off_against = 1.0 - read_off if exact else 1.0
    return Evidence(
        mean,
        spreads[0][()] if len(groups) == 1 else (over_seeds * seeds) ** 0.5,
        seeds,
        error=error[()],
        fixed_variance=max(drawn.variance - drawn.of_seeds, 0.0),
        examples=drawn.examples,
        freedom=freedom,
        p_for=np.where(none, read_off, stdtr(freedom, -t))[()],
        p_against=np.where(none, read_off_against, stdtr(freedom, t))[()],
        is_constant=(none & (not exact))[()],
        counts=counts if len(counts) > 1 else (),
        variances=variances,
        is_pooled=same is not None,
    )


def freedom_apart(variances: Sequence[Any], counts: Sequence[int], p: Any) -> Any:
    """Return the degrees of freedom of independent samples for a test at this p.

    Welch's formula (1947) errs where the variance of a small sample is far too small by chance:
    then the many degrees of freedom of the other one count. With 3 seeds against 20 a level of
    0.5 % becomes 1.6 %. The degrees of freedom of the smallest sample never err (Hájek 1962) and
    find little. So each variance in turn is as large as is not yet ruled out, and the least result
    of Welch's formula counts. This rule is ours; `benchmarks/error_rates.py` integrates its error.

    >>> round(float(freedom_apart([0.1, 0.1], [5, 5], 0.005)), 1)
    6.0
    """
    doubt = np.minimum(_DOUBTED_APART, _PER_LEVEL * np.asarray(p))
    found: list[Any] = []
    for doubted in range(len(counts)):
        parts = [np.asarray(variance, dtype=float) for variance in variances]
        freedom = counts[doubted] - 1
        parts[doubted] = parts[doubted] * freedom / (2 * gammaincinv(freedom / 2, doubt))
        whole: Any = np.maximum(sum(parts), _TINY)
        shares = sum((v / whole) ** 2 / (n - 1) for v, n in zip(parts, counts, strict=True))
        found.append(1 / np.maximum(shares, _TINY))
    return np.clip(np.min(found, axis=0), min(counts) - 1, sum(counts) - len(counts))


def freedom_of_t(variances: Sequence[Any], counts: Sequence[int], t: Any) -> Any:
    """Return the degrees of freedom by which this t has the p that they are for.

    So a test at a level has exactly the degrees of freedom for that level.

    >>> variances, counts = [0.1, 0.1], [5, 5]
    >>> freedom = freedom_of_t(variances, counts, 4.0)
    >>> np.isclose(freedom, freedom_apart(variances, counts, stdtr(freedom, -4.0)))
    np.True_
    """
    low, high = np.full_like(t, -40.0, dtype=float), np.zeros_like(t, dtype=float)
    for _ in range(30):  # halves; more degrees of freedom at a larger p, so there is one root
        middle = (low + high) / 2
        p = np.exp(middle)
        is_larger = stdtr(freedom_apart(variances, counts, p), -t) > p
        low, high = np.where(is_larger, middle, low), np.where(is_larger, high, middle)
    return freedom_apart(variances, counts, np.exp((low + high) / 2))[()]


def freedom_with_examples(
    fixed_variance: Any, over_seeds: Any, seeds: Any, *, examples: int
) -> Any:
    """Return the degrees of freedom of the sum of a variance over seeds and one over examples.

    With few seeds, the variance over seeds is sometimes far too small by chance. Then t is large,
    and Satterthwaite's formula adds the many degrees of freedom of the examples: the error rate can
    be three times the level. So the formula gets the largest variance over seeds that is not ruled
    out at 1 %. With it the level holds at any ratio of the two variances (by simulation in
    `tests/judge/test_judge_sampling.py`). This rule is ours.

    >>> round(float(freedom_with_examples(0.001, 0.0001, 3, examples=300)), 1)
    2.4
    """
    if not examples or not fixed_variance:
        return seeds - 1
    largest = over_seeds * (seeds - 1) / (2 * gammaincinv((seeds - 1) / 2, _DOUBTED))
    both = largest**2 / (seeds - 1) + fixed_variance**2 / (examples - 1)
    return (largest + fixed_variance) ** 2 / both


@dataclass(frozen=True)
class Look:
    """The evidence for a statement at one number of seeds, and whether it settles the statement.

    Reproduced: every needed comparison holds at this look (intersection-union: no correction of
    the level, Berger 1982). Refuted: any comparison fails, implied ones too, at a shared level
    (Bonferroni).
    """

    design: Design
    needed: Sequence[Evidence]
    implied: Sequence[Evidence] = ()

    @cached_property
    def every(self) -> list[Evidence]:
        """The evidence of all comparisons, the needed ones first, each with its boundaries."""
        pairs = zip((*self.needed, *self.implied), *self._boundaries(), strict=True)
        return [replace(each, boundary=up, boundary_against=down) for each, up, down in pairs]

    @cached_property
    def reproduced(self) -> Any:
        holds = [each.holds for each in self.every[: len(self.needed)]]
        return np.all(holds, axis=0) & ~self.refuted

    @cached_property
    def refuted(self) -> Any:
        return np.any([each.fails for each in self.every], axis=0)

    @property
    def is_hopeless(self) -> Any:
        """True where more seeds, up to the last look, would hardly settle the statement.

        It is settled if all needed comparisons hold, or if any comparison fails. Giving up early
        costs only power: it causes no false verdict.
        """
        last, every = self.design.looks[-1], (*self.needed, *self.implied)
        to_hold, to_fail = self._boundaries(last)
        holds = [_crossing(e, e.p_for, p, last) for e, p in zip(every, to_hold, strict=True)]
        fails = [_crossing(e, e.p_against, p, last) for e, p in zip(every, to_fail, strict=True)]
        all_hold, one_fails = np.min(holds[: len(self.needed)], axis=0), np.sum(fails, axis=0)
        return all_hold + one_fails < self.design.futility

    @property
    def p(self) -> float:
        """The smallest level at which these looks would have given this verdict; 1 if open.

        A settled statement has a p of at most the level, an open one does not. Under the null, p is
        at most q with a chance of at most q, after any number of looks.
        """
        level_at = self.design.level_at
        if self.reproduced:
            sides = [level_at(e.p_for, e.seeds, statistic=e.statistic_for) for e in self.needed]
            return float(min(1.0, 2 * max(sides)))
        if self.refuted:
            sides = [
                level_at(e.p_against, e.seeds, statistic=e.statistic_against)
                for e in self.every
                if not e.is_constant
            ]
            return float(min(1.0, 2 * sum(e.weight for e in self.every) * min(sides)))
        return 1.0

    def _boundaries(self, seeds: int | None = None) -> tuple[list[float], list[float]]:
        """The p at which each comparison holds and fails, at its own look or at `seeds` seeds."""
        every, boundary = (*self.needed, *self.implied), self.design.boundary
        share = 1 / sum(each.weight for each in every)
        return (
            [boundary(seeds or e.seeds, statistic=e.statistic_for) for e in every],
            [boundary(seeds or e.seeds, share=share, statistic=e.statistic_against) for e in every],
        )


def seeds_needed(evidence: Evidence, p: float, boundary: float) -> int | None:
    """The seeds at which one test crosses `boundary` with 80 % power; None if `MOST_SEEDS` do not.

    Today's one-sided p says how many standard errors the effect is; the error shrinks with seeds.

    >>> half = weigh([Group(np.array([-0.5, 0.5, 1.5] * 3))])
    >>> seeds_needed(half, float(half.p_for), 0.025)
    26
    """
    seeds = np.arange(2, MOST_SEEDS + 1)
    over_seeds = float(evidence.over_seeds) or 1.0
    error = (over_seeds / seeds + evidence.fixed_variance) ** 0.5
    now = (over_seeds / evidence.seeds + evidence.fixed_variance) ** 0.5
    freedom = evidence.freedom_at(seeds)
    t = -stdtrit(evidence.freedom, p) * now / error
    # A printed number stays as it is; the examples count as drawn anew.
    varies = 1.0 if evidence.examples else (over_seeds / seeds) ** 0.5 / error
    enough = seeds[1 - nctdtr(freedom, t / varies, -stdtrit(freedom, boundary) / varies) >= 0.8]
    return int(enough[0]) if enough.size else None


def _crossing(term: Evidence, p: Any, boundary: float, last: int) -> Any:
    """Return the chance that a test which stands at `p` now crosses `boundary` at the last look.

    If nearly all of the error comes from the examples, further seeds do not move the mean. But they
    show that the variance over seeds is small, which raises the degrees of freedom.
    """
    if not term.examples:
        return predictive_power(p, boundary, term.seeds / last)
    p = stdtr(term.freedom_at(last), stdtrit(term.freedom, p))
    now, then = (term.over_seeds / seeds + term.fixed_variance for seeds in (term.seeds, last))
    known = np.where(now > 0, then / np.where(now > 0, now, 1.0), term.seeds / last)
    return predictive_power(p, boundary, known)


# --- What a design finds; a plan says it before anything is trained.

_SAMPLES, _SEED = 20_000, 80


def power(design: Design, differences: Array) -> float:
    """Return the share of samples of differences, [seeds, samples], that are `reproduced`."""
    reproduced = settled = np.zeros(1, dtype=bool)
    for seeds in design.looks:
        look = Look(design, [weigh([Group(differences[:seeds])])])
        reproduced = reproduced | (~settled & look.reproduced)
        settled = settled | look.reproduced | look.refuted | look.is_hopeless
    return float(reproduced.mean())


@lru_cache(maxsize=16)
def detectable(design: Design) -> float:
    """Return the smallest effect of one comparison that is found with 80 % power.

    The effect is in standard deviations over seeds past the bound, found by simulation.

    >>> round(detectable(Design(looks=(5, 8, 12))), 1)
    1.3
    """
    noise = np.random.default_rng(_SEED).standard_normal((design.looks[-1], _SAMPLES))
    low, high = 0.0, 1.0
    while power(design, noise + high) < 0.8:
        low, high = high, 2 * high
    while high - low > 0.005 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power(design, noise + middle) >= 0.8 else (middle, high)
    return high
