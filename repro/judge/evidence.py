"""The tests of a statement's terms, and the rule by which they settle it.

Seeds run along the first axis, so that the same lines judge one claim and, in the calibration
benchmark, many thousand simulated ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from repro.judge import futility
from repro.judge.design import Design
from repro.judge.scale import Array
from repro.judge.statistic import STUDENT, Statistic
from repro.judge.student import critical, freedom_with_examples, tail

ROUNDING = 16 * float(np.finfo(np.float64).eps)
"""The largest relative difference that counts as rounding."""


@dataclass(frozen=True)
class Evidence:
    """The test of one term in both directions; a small `p_for` says that it holds."""

    mean: Any
    spread: Any
    seeds: int
    p_for: Any
    p_against: Any
    statistic_for: Statistic = STUDENT
    statistic_against: Statistic = STUDENT
    weight: float = 1.0
    """The part of a comparison that counts among those that can refute a statement.

    The two sides of a margin exclude each other, so that each of them is half a comparison.
    """
    alike: Any = False
    """True where all seeds gave the same, though they need not have: that is no evidence."""
    freedom: Any = 0.0
    """The degrees of freedom of its t test."""
    fixed_variance: float = 0.0
    """The part of the variance of the mean that more seeds do not make smaller."""
    examples: int = 0
    """The number of examples that this part comes from."""
    counts: tuple[int, ...] = ()
    """The numbers of seeds of independent samples; empty where the seeds are paired."""
    error: Any = None
    """The standard error of the mean of independent samples; else that of `spread`."""

    @property
    def standard_error(self) -> Any:
        """The standard error of the mean."""
        return self.spread / self.seeds**0.5 if self.error is None else self.error


def weigh(
    differences: Array,
    *,
    resolution: Any = 0.0,
    exact: bool = False,
    least_spread: Any = 0.0,
    sampling_variance: float = 0.0,
    of_seeds: float = 0.0,
    examples: int = 0,
) -> Evidence:
    """Test the mean against 0 by Student's t, in both directions.

    `sampling_variance` is that of the mean over the `examples` that all seeds were measured on. It
    is added to the variance of the mean over seeds; the degrees of freedom are then Satterthwaite's
    (`freedom_with_examples`). It does not shrink with more seeds, but for its part `of_seeds`: what
    single runs answer to single examples differs by chance. (That part is in both variances, so
    that the test errs more rarely than allowed.)

    Differences without any spread (up to `resolution`, the rounding of their terms) are read off if
    they are `exact`: positive holds; negative, and exactly 0, does not. Otherwise the spread is at
    least `least_spread`, half an example for shares. Where there is none, a seed that does not
    reach the training looks the same as certainty, and they are no evidence.

    >>> float(weigh(np.array([1.0, 1.0, 1.0]), exact=True).p_for)
    0.0
    >>> bool(weigh(np.array([1.0, 1.0, 1.0])).alike)
    True
    """
    seeds = len(differences)
    mean = differences.mean(axis=0)
    measured = differences.std(axis=0, ddof=1)
    same = measured <= resolution
    floor = 0.0 if exact else least_spread
    spread = np.where(same, 0.0, measured)
    spread = np.hypot(np.maximum(spread, floor), (seeds * sampling_variance) ** 0.5)
    none = spread == 0
    t = mean / np.where(none, 1.0, spread) * np.sqrt(seeds)
    over_seeds = np.maximum(measured, floor) ** 2 / seeds
    freedom = freedom_with_examples(sampling_variance, over_seeds, seeds, examples=examples)
    read_off = np.where(mean > resolution, 0.0, 1.0) if exact else 1.0
    read_off_against = 1.0 - read_off if exact else 1.0
    return Evidence(
        mean=mean,
        spread=spread[()],
        seeds=seeds,
        p_for=np.where(none, read_off, tail(t, freedom))[()],
        p_against=np.where(none, read_off_against, tail(-t, freedom))[()],
        alike=(none & (not exact))[()],
        freedom=freedom,
        fixed_variance=max(sampling_variance - of_seeds, 0.0),
        examples=examples,
    )


def settle(
    needed: list[Evidence], implied: list[Evidence], design: Design, *, ways: int = 1
) -> tuple[Any, Any]:
    """Return whether a conjunction is reproduced, and whether it is refuted, at this look.

    Reproduced needs every needed term at this look (intersection-union: the level needs no
    correction); refuted needs any one term, at a level shared among them all (Bonferroni). Where it
    is one of several `ways` to reproduce a claim, these share the level of reproducing.
    """
    every = [*needed, *implied]
    holds = [
        (term.p_for <= boundary) & ~np.asarray(term.alike)
        for term, boundary in zip(needed, to_hold(needed, design, ways=ways), strict=True)
    ]
    fails = [
        (term.p_against <= boundary) & ~np.asarray(term.alike)
        for term, boundary in zip(every, to_fail(every, design), strict=True)
    ]
    refuted = np.any(fails, axis=0)
    return np.all(holds, axis=0) & ~refuted, refuted


def is_hopeless(needed: list[Evidence], implied: list[Evidence], design: Design) -> Any:
    """Return True where more seeds, up to the last look, would hardly settle what is open.

    Giving up early can only cost power, which `Design.power` counts; no false verdict arises.
    """
    last, every = design.looks[-1], [*needed, *implied]
    return futility.is_hopeless(
        [
            (_with_freedom_at(last, term, term.p_for), boundary, _known(term, last))
            for term, boundary in zip(needed, to_hold(needed, design, seeds=last), strict=True)
        ],
        [
            (_with_freedom_at(last, term, term.p_against), boundary, _known(term, last))
            for term, boundary in zip(every, to_fail(every, design, seeds=last), strict=True)
        ],
    )


def to_hold(
    terms: Sequence[Evidence], design: Design, *, seeds: int | None = None, ways: int = 1
) -> list[float]:
    """Return the p at which each term holds, at its own look, or that at `seeds`."""
    return [
        design.boundary(seeds or term.seeds, share=1 / ways, statistic=term.statistic_for)
        for term in terms
    ]


def to_fail(terms: Sequence[Evidence], design: Design, *, seeds: int | None = None) -> list[float]:
    """Return the p of its opposite at which each term fails, at its own look, or that at `seeds`.

    They share the level.
    """
    share = 1 / sum(term.weight for term in terms)
    return [
        design.boundary(seeds or term.seeds, share=share, statistic=term.statistic_against)
        for term in terms
    ]


def _with_freedom_at(last: int, term: Evidence, p: Any) -> Any:
    """Return a p as the same t has it with the degrees of freedom of all seeds up to `last`.

    Where the mean is known but for its examples, further seeds do not move it. But they show that
    its variance over seeds is small, and with that the degrees of freedom of the examples count.
    """
    if not term.fixed_variance:
        return p
    over_seeds = _over_seeds(term) / last
    freedom = freedom_with_examples(term.fixed_variance, over_seeds, last, examples=term.examples)
    return tail(critical(p, term.freedom), freedom)


def _over_seeds(term: Evidence) -> Any:
    """The variance over seeds alone, with that of their answers to single examples."""
    return np.maximum(term.spread**2 - term.seeds * term.fixed_variance, 0.0)


def _known(term: Evidence, last: int) -> Any:
    """Return the share of what all seeds up to `last` would tell about a mean that is known."""
    over_seeds = _over_seeds(term)
    now, then = (over_seeds / seeds + term.fixed_variance for seeds in (term.seeds, last))
    return np.where(now > 0, then / np.where(now > 0, now, 1.0), term.seeds / last)
