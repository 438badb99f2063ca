"""Terms about differences whose mean should be positive: the t test.

The differences are paired, one per seed, unless a term compares arms whose runs are not: then each
arm is a sample by itself (`two_samples`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from repro.judge.design import Design, OneLook
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence, weigh
from repro.judge.scale import Array, Scale, ScaleError
from repro.judge.shrinkage import Excess
from repro.judge.stopping import without_stopping
from repro.judge.student import critical, effect_found, seeds_needed
from repro.judge.terms import Context, Readings, Side
from repro.judge.two_samples import weigh_apart
from repro.judge.unusual import unusual


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


class Paired(ABC):
    """The common part of all comparisons by the t test of paired differences."""

    bound: Bound
    below: bool
    scale: Scale

    @property
    @abstractmethod
    def label(self) -> str: ...
    @property
    @abstractmethod
    def unit(self) -> str: ...
    @property
    @abstractmethod
    def sides(self) -> tuple[Side, ...]: ...
    @property
    @abstractmethod
    def weights(self) -> tuple[float, ...]:
        """The factor of each side in the difference."""

    @abstractmethod
    def parts(self, readings: Readings) -> tuple[Array, Array]:
        """The two values whose difference is judged, on the scale."""

    @abstractmethod
    def differences(self, readings: Readings) -> Array: ...
    @abstractmethod
    def apart(self, readings: Readings) -> list[Array]:
        """The parts of the difference by what is paired: one array for each group of sides."""

    @abstractmethod
    def on_each_seed(self, readings: Readings) -> Array:
        """The effect on each seed alone, in the natural unit."""

    @abstractmethod
    def natural(self, readings: Readings) -> Callable[[float], float]:
        """Return what turns a mean difference on the scale into an effect in the natural unit."""

    @property
    def is_paired(self) -> bool:
        """False where it compares runs that are independent of each other."""
        return len({side.pairing for side in self.sides if not side.is_fixed}) < 2

    def weigh(self, readings: Readings) -> Evidence:
        """Test the differences by t; those within rounding of each other count as the same."""
        if not self.is_paired:
            samples = self.apart(readings)
            return weigh_apart(
                samples,
                least_spreads=[self.scale.half_example(each) for each in samples],
                exact=all(side.is_exact for side in self.sides),
            )
        left, right = self.parts(readings)
        largest = np.maximum(np.abs(left).max(axis=0), np.abs(right).max(axis=0))
        differences = self.differences(readings)
        variance, of_seeds, examples = self._sampling_variance(len(differences))
        return weigh(
            differences,
            resolution=ROUNDING * largest,
            exact=all(side.is_exact for side in self.sides),
            least_spread=np.maximum(self.scale.half_example(left), self.scale.half_example(right)),
            sampling_variance=variance,
            of_seeds=of_seeds,
            examples=examples,
        )

    def is_trivial(self, readings: Readings) -> Any:
        return False

    def _sampling_variance(self, seeds: int) -> tuple[float, float, int]:
        """The variance that the mean difference has from having measured on these examples alone.

        The examples, whose number comes last, are the same on every seed, so their error is that of
        the mean over seeds. A part of it, the second number, is what single seeds differ by on
        single examples (the interaction of both), which is smaller with more seeds.
        """
        weighted = [
            weight * examples
            for weight, side in zip(self.weights, self.sides, strict=True)
            if (examples := side.examples(seeds)) is not None
        ]
        if not weighted:
            return 0.0, 0.0, 0
        differences: Array = np.sum(weighted, axis=0)
        of_examples = differences.mean(axis=0)
        rest = differences - of_examples
        rest -= rest.mean(axis=1, keepdims=True)
        count = len(of_examples)
        squares = float((rest**2).sum()) / ((seeds - 1) * (count - 1))
        return float(of_examples.var(ddof=1) / count), squares / (seeds * count), count

    def report(self, evidence: Evidence, readings: Readings, context: Context) -> Effect:
        mean, spread, seeds = float(evidence.mean), float(evidence.spread), evidence.seeds
        error = float(evidence.standard_error)
        half_width = float(critical(context.boundary, evidence.freedom)) * error if spread else 0.0
        natural = self.natural(readings)
        ends = [natural(mean - half_width), natural(mean + half_width)]
        detectable_in_sd = self._detectable_in_sd(evidence, context)
        detectable = detectable_in_sd * self._spread_at_last(evidence, context.design)
        distance = mean / spread if spread else np.inf if evidence.p_for == 0 else -np.inf
        corrected = None
        has_stopped = context.settled and not isinstance(context.design, OneLook)
        if has_stopped and context.terms == 1 and spread:
            corrected = natural(without_stopping(mean, spread, context.design))
        return Effect(
            label=self.label,
            unit=self.unit,
            bound=self.bound.value,
            below=self.below,
            estimate=natural(mean),
            corrected=corrected,
            low=min(ends),
            high=max(ends),
            p_for=float(evidence.p_for),
            p_against=float(evidence.p_against),
            boundary=context.boundary,
            boundary_against=context.boundary_against,
            seeds=seeds,
            distance=float(distance),
            alike=bool(evidence.alike),
            spread=spread,
            fixed_variance=evidence.fixed_variance,
            excess=Excess(mean, spread, seeds),
            detectable=natural(detectable),
            detectable_in_sd=detectable_in_sd,
            correlation=self._correlation(readings),
            unusual=self._unusual(readings) if spread else (),
            counts=evidence.counts,
            per_seed=tuple(self.on_each_seed(readings).tolist()) if self.is_paired else (),
        )

    def _unusual(self, readings: Readings) -> tuple[str, ...]:
        samples = [self.differences(readings)] if self.is_paired else self.apart(readings)
        return tuple(dict.fromkeys(seen for sample in samples for seen in unusual(sample)))

    def _detectable_in_sd(self, evidence: Evidence, context: Context) -> float:
        """The effect that is found with 80 % power, in standard deviations over seeds."""
        if self.is_paired or not evidence.spread:
            return context.design.detectable(terms=context.terms)
        freedom, power = float(evidence.freedom), 0.8 ** (1 / context.terms)
        found = effect_found(float(critical(context.boundary, freedom)), freedom, power=power)
        return found * float(evidence.standard_error) / float(evidence.spread)

    def _spread_at_last(self, evidence: Evidence, design: Design) -> float:
        """The spread over seeds, with what the examples add to it at the last look."""
        over_seeds = evidence.spread**2 - evidence.seeds * evidence.fixed_variance
        total = over_seeds + design.looks[-1] * evidence.fixed_variance
        return float(max(total, 0.0) ** 0.5)

    def seeds_needed(self, effect: Effect) -> int | None:
        """The seeds at which one test settles this effect, were its spread the true one."""
        excess = effect.excess
        assert excess is not None  # that of a difference is always told
        if not excess.spread:
            return None
        over_seeds = excess.spread**2 - excess.seeds * effect.fixed_variance
        return seeds_needed(
            abs(excess.mean),
            spread=max(over_seeds, 0.0) ** 0.5,
            boundary=effect.boundary_against if effect.distance < 0 else effect.boundary,
            fixed_variance=effect.fixed_variance,
        )

    def _correlation(self, readings: Readings) -> float | None:
        if not self.is_paired:
            return None
        left, right = self.parts(readings)
        # A spread that is only rounding is nothing to correlate.
        if min(np.ptp(left) / _size(left), np.ptp(right) / _size(right)) <= ROUNDING:
            return None
        # numpy's own functions for it take ten times as long for a few seeds
        left, right = left - left.mean(), right - right.mean()
        return float(left @ right / ((left @ left) * (right @ right)) ** 0.5)


def _size(values: Array) -> Any:
    """The largest absolute value over seeds, or 1 where all are 0."""
    largest = np.abs(values).max(axis=0)
    return np.where(largest > 0, largest, 1.0)


def _are_tied(left: Array, right: Array) -> Any:
    """Return whether both sides have the same values, seed by seed or each the same throughout."""
    if len(left) == len(right):
        return np.abs(left - right).max(axis=0) <= ROUNDING * _size(left)
    both = np.concatenate([left, right])
    return np.ptp(both, axis=0) <= ROUNDING * _size(both)


def require_paired(comparison: Comparison, word: str) -> None:
    """Raise ValueError where a word is about single seeds, and those of two arms are not paired."""
    if not comparison.is_paired:
        raise ValueError(
            f"{word} compares {comparison.left.label} and {comparison.right.label} seed by seed,"
            " and their runs are not paired: say paired=True if one seed is the same start and"
            " the same data order in both, or claim their means."
        )


@dataclass(frozen=True)
class Comparison(Paired):
    """The term that `left` lies above, or `below`, `right` shifted by `bound`, on the scale."""

    left: Side
    right: Side
    scale: Scale
    metric: str
    bound: Bound = Bound()
    below: bool = False
    other_bound: Bound | None = None
    """The bound on the other side, of a term that is one of the two sides of a margin."""

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.left, self.right

    @property
    def weights(self) -> tuple[float, ...]:
        return 1.0, -(self.bound.times or 1.0)

    @property
    def label(self) -> str:
        sign = "/" if self.bound.is_ratio else "-"
        return f"{self.left.label} {sign} {self.right.label}"

    @property
    def unit(self) -> str:
        return "ratio" if self.bound.is_ratio else self.metric

    def read(self, readings: Readings) -> tuple[Array, Array]:
        """Return the values of both sides; of a fixed number as many as the other side has."""
        left, right = readings[self.left], readings[self.right]
        if self.is_paired and len(left) != len(right):
            seeds = min(len(left), len(right))
            return left[:seeds], right[:seeds]
        return left, right

    def weigh(self, readings: Readings) -> Evidence:
        """Test the differences by t; sides that are the same on every seed are no evidence.

        Of the two sides of a margin only one can fail, so they do not share the level. The p is
        that of a difference as far out on either side, were the true one at this bound.
        """
        evidence = super().weigh(readings)
        left, right = self.read(readings)
        tied = _are_tied(left, right)
        tied &= not (evidence.fixed_variance or all(side.is_exact for side in self.sides))
        evidence = replace(evidence, alike=(evidence.alike | tied)[()])
        if self.other_bound is None:
            return evidence
        other = replace(self, bound=self.other_bound, below=not self.below, other_bound=None)
        if np.all(other.is_trivial(readings)):
            return evidence
        as_far_out = evidence.p_against + other.weigh(readings).p_for
        return replace(evidence, p_against=np.minimum(1.0, as_far_out)[()], weight=0.5)

    def is_trivial(self, readings: Readings) -> Any:
        """Return True where the bound lies beyond all that the metric can be, so that it holds."""
        if self.bound == Bound():
            return False
        return self.scale.is_beyond(self.bound.of(readings[self.right]), above=self.below)

    def parts(self, readings: Readings) -> tuple[Array, Array]:
        """The left side and the shifted right side, on the scale."""
        left, right = self.read(readings)
        name = self.bound.label(self.right.label)
        shifted = right
        if self.bound != Bound():
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

    def differences(self, readings: Readings) -> Array:
        left, right = self.parts(readings)
        return right - left if self.below else left - right

    def apart(self, readings: Readings) -> list[Array]:
        left, right = self.parts(readings)
        return [-left, right] if self.below else [left, -right]

    def on_each_seed(self, readings: Readings) -> Array:
        left, right = self.read(readings)
        return left / right if self.bound.is_ratio else left - right

    def natural(self, readings: Readings) -> Callable[[float], float]:
        """Return what turns a mean difference on the scale into an effect in natural units.

        It is measured from the mean of the right side on the scale, so that an interval of mean
        differences excludes 0 exactly where its image excludes the bound.
        """
        reference = self.parts(readings)[1].mean()
        sign = -1 if self.below else 1
        at_bound = self.scale.back(reference)

        def effect(mean_difference: float) -> float:
            reached = self.scale.back(reference + sign * mean_difference)
            if self.bound.times is not None:
                return float(reached / at_bound * self.bound.times)
            apart = float(reached - at_bound + self.bound.plus)
            return apart if abs(apart) > ROUNDING * abs(float(at_bound)) else 0.0

        return effect


@dataclass(frozen=True)
class WeakestComparison(Comparison):
    """The weakest of several comparisons, of which all must hold and any can refute."""

    among: Callable[[int], int] = field(kw_only=True)
    """The number of comparisons at so many seeds."""

    def weigh(self, readings: Readings) -> Evidence:
        evidence = super().weigh(readings)
        return replace(evidence, weight=float(self.among(evidence.seeds)))


@dataclass(frozen=True)
class GainComparison(Paired):
    """The term that the step from `low` to `high` exceeds that from `other_low` to `other_high`."""

    high: Side
    low: Side
    other_high: Side
    other_low: Side
    scale: Scale
    metric: str
    bound: Bound = Bound()
    below: bool = False

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.high, self.low, self.other_high, self.other_low

    @property
    def weights(self) -> tuple[float, ...]:
        return 1.0, -1.0, -1.0, 1.0

    @property
    def label(self) -> str:
        high, low, other_high, other_low = (side.label for side in self.sides)
        return f"({high} - {low}) - ({other_high} - {other_low})"

    @property
    def unit(self) -> str:
        return (
            self.metric if self.scale.name == "identity" else f"{self.scale.name} of {self.metric}"
        )

    def parts(self, readings: Readings) -> tuple[Array, Array]:
        high, low, other_high, other_low = (
            self.scale.of(readings[side], f"{self.metric} of {side.label}") for side in self.sides
        )
        return high - low, other_high - other_low

    def differences(self, readings: Readings) -> Array:
        gain, other = self.parts(readings)
        return gain - other

    def apart(self, readings: Readings) -> list[Array]:
        samples: dict[object, Array] = {}
        for weight, side in zip(self.weights, self.sides, strict=True):
            part = weight * self.scale.of(readings[side], f"{self.metric} of {side.label}")
            before = samples.get(side.pairing)
            samples[side.pairing] = part if before is None else before + part
        return list(samples.values())

    def on_each_seed(self, readings: Readings) -> Array:
        return self.differences(readings)

    def natural(self, readings: Readings) -> Callable[[float], float]:
        """Return the same number: a difference of gains has no natural unit."""
        return float
