"""Tests that hold however often one looks, for samples that grow until the answer is clear.

An e-value says how much better the values fit an effect than none: a bet that gains nothing in the
mean if there is no effect. So it ever exceeds 1 / level with a chance of at most the level, at
whatever numbers of runs one looks (Ville 1939). Its inverse is a p that holds at any time.

**Paired runs, a number, or arms of one spread** have the ratio of t densities under a normal prior
for the effect, in units of the spread (Robbins 1970; Lai 1976). It does not depend on the spread.

**Two samples with spreads of their own** (Behrens and Fisher) have a prior for the ratio of the two
spreads as well. It is compared with the ratio that fits *no effect* best, so that the level holds
for every ratio (universal inference: Wasserman, Ramdas and Balakrishnan 2020).

Either is about both signs. The half of the prior with the wrong sign contributes 1 at most, so
twice the e-value less 1 is an e-value of the right sign alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import logsumexp  # type: ignore[import-untyped]

from repro.judge.comparison import Evidence
from repro.judge.looks import LEVEL, Design, OneLook
from repro.judge.mistakes import CannotGrow
from repro.judge.scale import Array
from repro.judge.statistic import STUDENT, Statistic

_STEPS = np.arange(10)
_EFFECTS = 2.0 * 8.0**_STEPS
"""The standard deviations of the prior for an effect, in standard deviations over runs.

It is a mixture, nearly all of it the first one; the others find effects of any size.
"""

_WEIGHTS: Array = np.log(0.75) - _STEPS * np.log(4.0)

RATIO = 0.3
"""The standard deviation of the prior for the log of the ratio of two spreads."""

_RATIOS: Array = np.linspace(-8.0, 8.0, 321)
"""The logs of ratios of spreads over which the best fit is sought."""

_TINY = float(np.finfo(np.float64).tiny)

_LIKELY = np.abs(_RATIOS) <= 4 * RATIO
_PRIOR = -0.5 * (_RATIOS[_LIKELY] / RATIO) ** 2
_PRIOR -= logsumexp(_PRIOR)


@dataclass(frozen=True)
class AnyTime(OneLook):
    """The design for results that grow: one may look after each run, and stop when one likes.

    >>> AnyTime(looks=(20,)).boundary(12)
    0.005
    """

    at_any_time: ClassVar[bool] = True

    def boundary(self, seeds: int, *, share: float = 1, statistic: Statistic = STUDENT) -> float:
        return self.one_sided_level * share

    def level_at(self, p: float, seeds: int, *, statistic: Statistic = STUDENT) -> float:
        return p

    def read(self, evidence: Any) -> Any:
        """Return the evidence with p that hold at any time; raises `CannotGrow`."""
        if evidence.statistic_for != STUDENT or evidence.examples or len(evidence.counts) > 2:
            raise CannotGrow(
                'looks="any" compares the means of two arms, or of an arm with a number: declare'
                " the looks for another claim, as in looks=(5, 8, 12, 20)"
            )
        growing = Growing(**vars(evidence))
        p, mean = growing.p(evidence.mean), evidence.mean
        none = np.asarray(evidence.error) == 0
        return replace(
            growing,
            p_for=np.where(none, evidence.p_for, np.where(mean > 0, p, 1.0))[()],
            p_against=np.where(none, evidence.p_against, np.where(mean < 0, p, 1.0))[()],
            weight=max(evidence.weight, 1.0),  # each side of a margin has half of the level
        )


def declared_design(
    looks: Sequence[int] | Literal["any"] | None, *, most: int, level: float = LEVEL
) -> Design:
    """Return the design that is declared: these looks, `"any"` time, or one look at `most` runs.

    >>> print(type(declared_design("any", most=20)).__name__)
    AnyTime
    """
    if looks and looks != "any":
        return Design(tuple(looks), 2 * level)
    return (AnyTime if looks else OneLook)((most,), 2 * level)


@dataclass(frozen=True, kw_only=True)
class Growing(Evidence):
    """The evidence of samples that grow; its p and its interval hold at any time."""

    @property
    def half_width(self) -> Any:
        low, high = 0.0, 18.0  # the log of the half width in errors
        for _ in range(36):
            middle = (low + high) / 2
            is_clear = self.p(self.error * np.exp(middle)) <= self.boundary
            low, high = np.where(is_clear, (low, middle), (middle, high))
        return self.error * np.exp(high)

    def p(self, mean: Any) -> Any:
        """Return the p of a mean this far from its bound, with the spreads as they are."""
        if len(self.counts) == 2 and not self.is_pooled:
            spreads = [v * n for v, n in zip(self.variances, self.counts, strict=True)]
            evidence = log_e_apart(mean, spreads, self.counts)
        else:
            size = 1 / sum(1 / count for count in self.counts or (self.seeds,))
            error = np.where(np.asarray(self.error) > 0, self.error, 1.0)
            evidence = log_e(mean / error, self.freedom, size)
        return p_of(evidence)


def p_of(log_evidence: Any) -> Any:
    """Return the p at any time of a log of an e-value for both signs.

    >>> round(float(p_of(np.log(100.5))), 3)
    0.005
    """
    twice = 2 * np.exp(np.minimum(log_evidence, 300.0)) - 1
    return np.where(twice > 1, 1 / np.maximum(twice, 1.0), 1.0)[()]


def log_e(t: Any, freedom: Any, size: Any) -> Any:
    """Return the log of the e-value of a t statistic whose error is a spread / sqrt(`size`).

    >>> round(float(log_e(5.0, 9, 10)), 1)
    4.2
    """
    square, freedom, size = (np.asarray(x, dtype=float)[..., None] for x in (t, freedom, size))
    square = square**2 / freedom
    shrunk = 1 + size * _EFFECTS**2
    gain = np.log1p(square) - np.log1p(square / shrunk)
    return logsumexp(_WEIGHTS + (freedom + 1) / 2 * gain - np.log(shrunk) / 2, axis=-1)


def log_e_apart(mean: Any, variances: Sequence[Any], counts: Any) -> Any:
    """Return the log of the e-value of a difference of two means, each with a spread of its own.

    `variances` are over runs. One run of a sample has none.

    >>> round(float(log_e_apart(3.0, [1.0, 1.0], [8, 8])), 1)
    6.1
    """
    squared = np.asarray(mean)[..., None] ** 2
    first, other = (np.asarray(n, dtype=float)[..., None] for n in counts)
    within = [
        np.asarray(v)[..., None] * (n - 1) for v, n in zip(variances, (first, other), strict=True)
    ]
    ratio = np.exp(_RATIOS)  # of the second spread to the first one
    weight = other / ratio**2
    size = first * weight / (first + weight)
    rest = within[0] + within[1] / ratio**2
    power = (first + other - 1) / 2
    likely = -other * _RATIOS - np.log(first + weight) / 2
    no_effect = likely - power * np.log(np.maximum(rest + size * squared, _TINY))
    likely, size, rest = (x[..., _LIKELY, None] for x in (likely, size, rest))
    shrunk = 1 + size * (_EFFECTS**2 * ratio[_LIKELY, None])
    shift = size / shrunk * squared[..., None]
    effect = (
        likely - np.log(shrunk) / 2 - power[..., None] * np.log(np.maximum(rest + shift, _TINY))
    )
    prior = _PRIOR[:, None] + _WEIGHTS
    return logsumexp(effect + prior, axis=(-1, -2)) - no_effect.max(axis=-1)


def further(
    mean: float,
    variances: Sequence[float],
    counts: Sequence[int],
    *,
    level: float,
    most: int,
    freedom: float | None = None,
) -> tuple[int, ...]:
    """Return the fewest further runs of each sample that settle it, of at most `most` runs each.

    Each run goes to the sample that then has the smallest error. The mean and the `variances` over
    runs stay as they are; with one spread for all, `freedom` is that of it. Empty if so many runs
    would not settle it.

    >>> further(0.5, [0.75], [9], level=0.005, most=60)
    (43,)
    """
    path, now = [tuple(counts)], list(counts)
    while room := [place for place, count in enumerate(now) if count < most]:
        gains = {place: variances[place] / (now[place] ** 2 + now[place]) for place in room}
        now[max(gains, key=gains.__getitem__)] += 1
        path.append(tuple(now))
    grown = np.array(path, dtype=float).T
    if len(grown) == 2 and freedom is None:
        p = p_of(log_e_apart(np.full(len(path), mean), variances, grown))
    else:
        error = sum(v / n for v, n in zip(variances, grown, strict=True)) ** 0.5
        known = grown[0, 0] - 1 if freedom is None else freedom
        known = known + grown.sum(axis=0) - grown[:, 0].sum()
        p = p_of(log_e(mean / error, known, 1 / (1 / grown).sum(axis=0)))
    enough = np.flatnonzero((p <= level) & (np.arange(len(path)) > 0))
    if not len(enough):
        return ()
    return tuple(n - count for n, count in zip(path[enough[0]], counts, strict=True))
