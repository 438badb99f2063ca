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

MOST_SEEDS = 200
"""The largest number of seeds that advice names."""

_DOUBTED = 0.01
"""The chance that the variance over seeds is larger than `freedom_with_examples` assumes."""


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

    def freedom_at(self, seeds: Any) -> Any:
        """The degrees of freedom at another number of seeds, with the same spread over seeds."""
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


def weigh(
    samples: Sequence[Array],
    *,
    least_spreads: Sequence[Any] = (0.0,),
    resolutions: Sequence[Any] = (0.0,),
    exact: bool = False,
    drawn: Drawn = ALL_THERE_ARE,
) -> Evidence:
    """Test the sum of the means of independent samples against 0 by t, in both directions.

    Paired differences are one sample. Several samples get the degrees of freedom of the smallest
    one. Then the test never errs too often, however the spreads differ (Hájek 1962).

    Samples without spread (up to `resolutions`, their rounding) need no test if they are `exact`: a
    positive sum holds; a negative one, or 0, does not. Other samples have a spread of at least
    `least_spreads`, half an example for shares. Without any spread they are no evidence: perhaps
    the seed does not reach the training.

    >>> float(weigh([np.array([1.0, 1.0, 1.0])], exact=True).p_for)
    0.0
    >>> bool(weigh([np.array([1.0, 1.0, 1.0])]).is_constant)
    True
    """
    counts = tuple(map(len, samples))
    seeds = min(counts)
    mean = sum(sample.mean(axis=0) for sample in samples)
    over_seeds: Any = 0.0
    for sample, least, resolution in zip(samples, least_spreads, resolutions, strict=True):
        measured = sample.std(axis=0, ddof=1)
        measured = np.where(measured <= resolution, 0.0, measured)
        floor = 0.0 if exact else least
        over_seeds = over_seeds + np.maximum(measured, floor) ** 2 / len(sample)
    error = (over_seeds + drawn.variance) ** 0.5
    none = error == 0
    t = mean / np.where(none, 1.0, error)
    freedom = freedom_with_examples(drawn.variance, over_seeds, seeds, examples=drawn.examples)
    read_off = np.where(mean > sum(resolutions), 0.0, 1.0) if exact else 1.0
    read_off_against = 1.0 - read_off if exact else 1.0
    return Evidence(
        mean,
        measured[()] if len(samples) == 1 else (over_seeds * seeds) ** 0.5,
        seeds,
        error=error[()],
        fixed_variance=max(drawn.variance - drawn.of_seeds, 0.0),
        examples=drawn.examples,
        freedom=freedom,
        p_for=np.where(none, read_off, stdtr(freedom, -t))[()],
        p_against=np.where(none, read_off_against, stdtr(freedom, t))[()],
        is_constant=(none & (not exact))[()],
        counts=counts if len(counts) > 1 else (),
    )


def freedom_with_examples(
    fixed_variance: Any, over_seeds: Any, seeds: Any, *, examples: int
) -> Any:
    """Return the degrees of freedom of the sum of a variance over seeds and one over examples.

    With few seeds, the variance over seeds is sometimes far too small by chance. Then t is large,
    and Satterthwaite's formula adds the many degrees of freedom of the examples: the error rate can
    be three times the level. So the formula gets the largest variance over seeds that is not ruled
    out at 1 %. With it the level holds at any ratio of the two variances (by simulation in
    `tests/judge/test_judge_sampling.py`).

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
    the level). Refuted: any comparison fails, implied ones too, at a shared level (Bonferroni).
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

    >>> half = weigh([np.array([-0.5, 0.5, 1.5] * 3)])
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
        look = Look(design, [weigh([differences[:seeds]])])
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
