"""The terms that weighted sums of arms over seeds should be positive: comparisons, and gains.

They are judged by the t test of paired differences. Arms whose runs are not paired are independent
samples.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Drawn, Evidence, Excess, weigh
from repro.judge.scale import Array, Scale, ScaleError
from repro.judge.statistic import critical
from repro.judge.terms import Context, Readings, Side, Term, effect_of


@dataclass(frozen=True)
class Bound:
    """The bound of the left side: the right side `times` a ratio, or `plus` an amount."""

    times: float | None = None
    plus: float = 0.0

    @property
    def is_ratio(self) -> bool:
        return self.times is not None

    @property
    def value(self) -> float:
        return self.plus if self.times is None else self.times

    def of(self, right: Array) -> Array:
        return right + self.plus if self.times is None else right * self.times

    def label(self, right: str) -> str:
        if self.times is not None:
            return f"{right} times {self.times:g}"
        if self.plus == 0:
            return right
        return f"{right} {'+' if self.plus > 0 else '-'} {abs(self.plus):g}"


UNSHIFTED = Bound()
"""The bound that is the right side itself."""


class Contrast(Term):
    """The common part of comparisons of sides, and of gains, by their differences over seeds."""

    bound: Bound = UNSHIFTED
    below: bool = False
    label: str
    unit: str

    @property
    @abstractmethod
    def weights(self) -> tuple[float, ...]:
        """The factor of each side in the difference."""

    @abstractmethod
    def scaled(self, readings: Readings) -> list[Array]:
        """The values of each side on the scale, a bound added, with the sign of its weight."""

    @abstractmethod
    def halves(self, readings: Readings) -> tuple[Array, Array]:
        """The two values whose difference is judged, on the scale."""

    @abstractmethod
    def on_each_seed(self, readings: Readings) -> Array:
        """The effect on each seed alone, in the natural unit."""

    @abstractmethod
    def natural(self, right: Array) -> Callable[[float], float]:
        """Return what turns a mean difference on the scale into an effect in the natural unit."""

    def weigh(self, readings: Readings) -> Evidence:
        """Test the differences by t; those within rounding of each other count as the same."""
        if not self.is_paired:
            samples = self._samples(readings)
            return weigh(
                samples,
                least_spreads=[self.scale.half_example(each) for each in samples],
                resolutions=[ROUNDING * np.abs(each).max(axis=0) for each in samples],
                exact=self.is_exact,
            )
        left, right = self.halves(readings)
        return weigh(
            [self._difference(left, right)],
            least_spreads=[
                np.maximum(self.scale.half_example(left), self.scale.half_example(right))
            ],
            resolutions=[rounding(left, right)],
            exact=self.is_exact,
            drawn=self._drawn(len(left)),
        )

    def differences(self, readings: Readings) -> Array:
        """The difference on each seed, positive where the term holds."""
        return self._difference(*self.halves(readings))

    def distance(self, readings: Readings) -> Excess | None:
        if not self.is_paired:
            apart = self.weigh(readings)
            return Excess(float(apart.mean), float(apart.spread), apart.seeds)
        left, right = self.halves(readings)
        differences = self._difference(left, right)
        return excess_of(differences, float(rounding(left, right)))

    def describe(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        mean, spread = float(evidence.mean), float(evidence.spread)
        error = float(evidence.standard_error)
        half_width = float(critical(context.boundary, evidence.freedom)) * error if spread else 0.0
        left, right = self.halves(readings)
        natural = self.natural(right)
        ends = [natural(mean - half_width), natural(mean + half_width)]
        design = context.design.at(evidence.seeds)
        detectable_in_sd = design.detectable(terms=context.terms)
        variance = evidence.over_seeds + design.looks[-1] * evidence.fixed_variance
        distance = mean / spread if spread else np.inf if evidence.p_for == 0 else -np.inf
        return effect_of(
            evidence,
            context,
            label=self.label,
            unit=self.unit,
            bound=self.bound.value,
            below=self.below,
            estimate=natural(mean),
            low=min(ends),
            high=max(ends),
            distance=float(distance),
            spread=spread,
            detectable=natural(detectable_in_sd * float(variance) ** 0.5),
            detectable_in_sd=detectable_in_sd,
            correlation=_correlation(left, right) if self.is_paired else None,
            per_seed=tuple(self.on_each_seed(readings).tolist()) if self.is_paired else (),
        )

    def _difference(self, left: Array, right: Array) -> Array:
        return right - left if self.below else left - right

    def _samples(self, readings: Readings) -> list[Array]:
        """The parts of the difference by what is paired: one array for each group of sides."""
        samples: dict[object, Array] = {}
        for side, part in zip(self.sides, self.scaled(readings), strict=True):
            before = samples.get(side.pairing)
            samples[side.pairing] = part if before is None else before + part
        return list(samples.values())

    def _drawn(self, seeds: int) -> Drawn:
        """The error of the mean difference from having measured on these examples alone.

        The examples are the same on every seed, so it is the error of the mean over seeds. A part
        of it is what single seeds differ by on single examples (the interaction of both), which is
        smaller with more seeds.
        """
        weighted = [
            weight * examples
            for weight, side in zip(self.weights, self.sides, strict=True)
            if (examples := side.examples(seeds)) is not None
        ]
        if not weighted:
            return Drawn()
        differences: Array = np.sum(weighted, axis=0)
        of_examples = differences.mean(axis=0)
        rest = differences - of_examples
        rest -= rest.mean(axis=1, keepdims=True)
        count = len(of_examples)
        squares = float((rest**2).sum()) / ((seeds - 1) * (count - 1))
        return Drawn(float(of_examples.var(ddof=1) / count), squares / (seeds * count), count)


@dataclass(frozen=True)
class Comparison(Contrast):
    """The term that `left` lies above, or `below`, `right` shifted by `bound`, on the scale."""

    left: Side
    right: Side
    scale: Scale
    metric: str
    bound: Bound = UNSHIFTED
    below: bool = False
    other_bound: Bound | None = None
    """The bound on the other side, of a term that is one of the two sides of a margin."""
    among: Callable[[int], int] | None = None
    """The number of comparisons at so many seeds of which this is the weakest, if it is."""

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.left, self.right

    @property
    def weights(self) -> tuple[float, ...]:
        return 1.0, -(self.bound.times or 1.0)

    @property
    def label(self) -> str:  # type: ignore[override]
        return f"{self.left.label} {'/' if self.bound.is_ratio else '-'} {self.right.label}"

    @property
    def unit(self) -> str:  # type: ignore[override]
        return "ratio" if self.bound.is_ratio else self.metric

    def weigh(self, readings: Readings) -> Evidence:
        """Test the differences by t; sides that are the same on every seed are no evidence.

        Of the two sides of a margin only one can fail, so they do not share the level. The p is
        that of a difference as far out on either side, were the true one at this bound.
        """
        evidence = super().weigh(readings)
        left, right = self._read(readings)
        tied = _are_tied(left, right) & (not (evidence.fixed_variance or self.is_exact))
        evidence = replace(evidence, alike=(evidence.alike | tied)[()])
        if self.among is not None:
            return replace(evidence, weight=float(self.among(evidence.seeds)))
        if self.other_bound is None:
            return evidence
        other = replace(self, bound=self.other_bound, below=not self.below, other_bound=None)
        if np.all(other.is_trivial(readings)):
            return evidence
        as_far_out = evidence.p_against + other.weigh(readings).p_for
        return replace(evidence, p_against=np.minimum(1.0, as_far_out)[()], weight=0.5)

    def is_trivial(self, readings: Readings) -> Any:
        """Return True where the bound lies beyond all that the metric can be, so that it holds."""
        if self.bound == UNSHIFTED:
            return False
        return self.scale.is_beyond(self.bound.of(readings[self.right]), above=self.below)

    def halves(self, readings: Readings) -> tuple[Array, Array]:
        """The left side and the shifted right side, on the scale."""
        left, right = self._read(readings)
        name = self.bound.label(self.right.label)
        shifted = right
        if self.bound != UNSHIFTED:
            self.scale.of(right, f"{self.metric} of {self.right.label}")
            if self.bound.is_ratio and np.any(right <= 0):
                raise ScaleError(
                    f"{self.metric} of {self.right.label} is {right[right <= 0].flat[0]:.6g}: a "
                    "ratio says nothing where values are not positive; claim a difference, "
                    "by_at_least=..."
                )
            shifted = self.scale.kept_inside(self.bound.of(right))
        return (
            self.scale.of(left, f"{self.metric} of {self.left.label}"),
            self.scale.of(shifted, f"{self.metric} of {name}"),
        )

    def scaled(self, readings: Readings) -> list[Array]:
        left, right = self.halves(readings)
        return [-left, right] if self.below else [left, -right]

    def on_each_seed(self, readings: Readings) -> Array:
        left, right = self._read(readings)
        return left / right if self.bound.is_ratio else left - right

    def natural(self, right: Array) -> Callable[[float], float]:
        """Return what turns a mean difference on the scale into an effect in natural units.

        It is measured from the mean of the right side on the scale, so that an interval of mean
        differences excludes 0 exactly where its image excludes the bound.
        """
        reference = right.mean()
        sign = -1 if self.below else 1
        at_bound = self.scale.back(reference)

        def effect(mean_difference: float) -> float:
            reached = self.scale.back(reference + sign * mean_difference)
            if self.bound.times is not None:
                return float(reached / at_bound * self.bound.times)
            apart = float(reached - at_bound + self.bound.plus)
            return apart if abs(apart) > ROUNDING * abs(float(at_bound)) else 0.0

        return effect

    def require_paired(self, word: str) -> None:
        """Raise ValueError where a word is about single seeds, and those are not paired."""
        if not self.is_paired:
            raise ValueError(
                f"{word} compares {self.left.label} and {self.right.label} seed by seed,"
                " and their runs are not paired: say paired=True if one seed is the same start and"
                " the same data order in both, or claim their means."
            )

    def _read(self, readings: Readings) -> tuple[Array, Array]:
        """Return the values of both sides; of a fixed number as many as the other side has."""
        left, right = readings[self.left], readings[self.right]
        if self.is_paired and len(left) != len(right):
            seeds = min(len(left), len(right))
            return left[:seeds], right[:seeds]
        return left, right


@dataclass(frozen=True)
class GainComparison(Contrast):
    """The term that the step from `low` to `high` exceeds that from `other_low` to `other_high`."""

    high: Side
    low: Side
    other_high: Side
    other_low: Side
    scale: Scale
    metric: str

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.high, self.low, self.other_high, self.other_low

    @property
    def weights(self) -> tuple[float, ...]:
        return 1.0, -1.0, -1.0, 1.0

    @property
    def label(self) -> str:  # type: ignore[override]
        high, low, other_high, other_low = (side.label for side in self.sides)
        return f"({high} - {low}) - ({other_high} - {other_low})"

    @property
    def unit(self) -> str:  # type: ignore[override]
        """The metric on its scale: a difference of gains has no natural unit."""
        plain = self.scale.name == "identity"
        return self.metric if plain else f"{self.scale.name} of {self.metric}"

    def scaled(self, readings: Readings) -> list[Array]:
        return [
            weight * self.scale.of(readings[side], f"{self.metric} of {side.label}")
            for weight, side in zip(self.weights, self.sides, strict=True)
        ]

    def halves(self, readings: Readings) -> tuple[Array, Array]:
        high, low, other_high, other_low = self.scaled(readings)
        return high + low, -(other_high + other_low)

    def on_each_seed(self, readings: Readings) -> Array:
        return self.differences(readings)

    def natural(self, right: Array) -> Callable[[float], float]:
        return float


@dataclass(frozen=True)
class OfComparison(Term):
    """A term that says of a comparison something else than that it holds in the mean."""

    comparison: Comparison

    @property
    def scale(self) -> Scale:  # type: ignore[override]
        return self.comparison.scale

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.comparison.sides


def excess_of(differences: Array, least: float) -> Excess:
    """Return the distance of differences from 0, whose spread counts beyond rounding alone."""
    spread = float(differences.std(ddof=1))
    return Excess(float(differences.mean()), spread if spread > least else 0.0, len(differences))


def _size_of(values: Array) -> Any:
    """Return the largest absolute value over seeds, or 1 where all are 0."""
    size = np.abs(values).max(axis=0)
    return np.where(size > 0, size, 1.0)


def rounding(left: Array, right: Array) -> Any:
    """Return the largest difference of two values that is only rounding."""
    return ROUNDING * np.maximum(np.abs(left).max(axis=0), np.abs(right).max(axis=0))


def _correlation(left: Array, right: Array) -> float | None:
    """Pearson's r of both sides over seeds: what the pairing is worth."""
    # A spread that is only rounding is nothing to correlate.
    if min(np.ptp(left) / _size_of(left), np.ptp(right) / _size_of(right)) <= ROUNDING:
        return None
    # numpy's own functions for it take ten times as long for a few seeds
    left, right = left - left.mean(), right - right.mean()
    return float(left @ right / ((left @ left) * (right @ right)) ** 0.5)


def _are_tied(left: Array, right: Array) -> Any:
    """Return whether both sides have the same values, seed by seed or each the same throughout."""
    if len(left) == len(right):
        return np.abs(left - right).max(axis=0) <= ROUNDING * _size_of(left)
    both = np.concatenate([left, right])
    return np.ptp(both, axis=0) <= ROUNDING * _size_of(both)
