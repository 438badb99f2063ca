"""Terms about paired differences, one per seed, whose mean should be positive: the t test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from repro.judge.design import Design
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence, is_skewed, weigh
from repro.judge.scale import Array, Scale
from repro.judge.shrinkage import Excess
from repro.judge.student import critical, seeds_needed
from repro.judge.terms import Readings, Side


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
    def on_each_seed(self, readings: Readings) -> Array:
        """The effect on each seed alone, in the natural unit."""

    @abstractmethod
    def effect(self, readings: Readings, mean_difference: float) -> float:
        """Turn a mean difference on the scale into an effect in the natural unit."""

    def weigh(self, readings: Readings) -> Evidence:
        """Test the differences by t; those within rounding of each other count as the same."""
        left, right = self.parts(readings)
        largest = np.maximum(np.abs(left).max(axis=0), np.abs(right).max(axis=0))
        differences = self.differences(readings)
        return weigh(
            differences,
            resolution=ROUNDING * largest,
            sampling_variance=self._sampling_variance(len(differences)),
        )

    def _sampling_variance(self, seeds: int) -> float:
        """The variance that the mean difference has from having measured on these examples alone.

        The examples are the same on every seed, so their error is that of the mean over seeds.
        """
        weighted = [
            weight * examples.mean(axis=0)
            for weight, side in zip(self.weights, self.sides, strict=True)
            if (examples := side.examples(seeds)) is not None
        ]
        if not weighted:
            return 0.0
        differences: Array = np.sum(weighted, axis=0)  # one for each example
        return float(differences.var(ddof=1) / len(differences))

    def report(
        self,
        evidence: Evidence,
        readings: Readings,
        design: Design,
        *,
        terms: int,
        comparisons: int,
    ) -> Effect:
        mean, spread, seeds = float(evidence.mean), float(evidence.spread), evidence.seeds
        confirm, refute = design.boundary(), design.boundary(terms=comparisons)
        half_width = float(critical(confirm, seeds)) * spread / seeds**0.5
        ends = [self.effect(readings, mean - half_width), self.effect(readings, mean + half_width)]
        detectable_in_sd = design.detectable(terms=terms)
        distance = mean / spread if spread else float("inf" if evidence.p_for == 0 else "-inf")
        return Effect(
            label=self.label,
            unit=self.unit,
            bound=self.bound.value,
            below=self.below,
            estimate=self.effect(readings, mean),
            low=min(ends),
            high=max(ends),
            p_for=float(evidence.p_for),
            p_against=float(evidence.p_against),
            boundary=confirm,
            boundary_against=refute,
            seeds=seeds,
            distance=distance,
            excess=Excess(mean, spread, seeds),
            detectable=self.effect(readings, detectable_in_sd * spread),
            detectable_in_sd=detectable_in_sd,
            correlation=self._correlation(readings),
            skewed=bool(spread) and is_skewed(self.differences(readings)),
            per_seed=tuple(self.on_each_seed(readings).tolist()),
        )

    def seeds_needed(self, effect: Effect) -> int | None:
        """The seeds at which one test settles this effect, were its spread the true one."""
        boundary = effect.boundary_against if effect.distance < 0 else effect.boundary
        return seeds_needed(abs(effect.distance), boundary=boundary)

    def _correlation(self, readings: Readings) -> float | None:
        left, right = self.parts(readings)
        # A spread that is only rounding is nothing to correlate.
        if min(np.ptp(left) / _size(left), np.ptp(right) / _size(right)) <= ROUNDING:
            return None
        return float(np.corrcoef(left, right)[0, 1])


def _size(values: Array) -> float:
    return float(np.abs(values).max()) or 1.0


@dataclass(frozen=True)
class Comparison(Paired):
    """The term that `left` lies above, or `below`, `right` shifted by `bound`, on the scale."""

    left: Side
    right: Side
    scale: Scale
    metric: str
    bound: Bound = Bound()
    below: bool = False

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

    def parts(self, readings: Readings) -> tuple[Array, Array]:
        """The left side and the shifted right side, on the scale."""
        right = readings[self.right]
        name = self.bound.label(self.right.label)
        shifted = right
        if self.bound != Bound():
            self.scale.of(right, f"{self.metric} of {self.right.label}")
            shifted = self.bound.of(right)
        return (
            self.scale.of(readings[self.left], f"{self.metric} of {self.left.label}"),
            self.scale.of(shifted, f"{self.metric} of {name}"),
        )

    def differences(self, readings: Readings) -> Array:
        left, right = self.parts(readings)
        return right - left if self.below else left - right

    def on_each_seed(self, readings: Readings) -> Array:
        left, right = readings[self.left], readings[self.right]
        return left / right if self.bound.is_ratio else left - right

    def effect(self, readings: Readings, mean_difference: float) -> float:
        """The effect in natural units, where the mean difference on the scale is this.

        It is measured from the mean of the right side on the scale, so that an interval of mean
        differences excludes 0 exactly where its image excludes the bound.
        """
        reference = self.parts(readings)[1].mean()
        sign = -1 if self.below else 1
        at_bound = self.scale.back(reference)
        reached = self.scale.back(reference + sign * mean_difference)
        if self.bound.times is not None:
            return float(reached / at_bound * self.bound.times)
        apart = float(reached - at_bound + self.bound.plus)
        return apart if abs(apart) > ROUNDING * abs(float(at_bound)) else 0.0


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

    def on_each_seed(self, readings: Readings) -> Array:
        return self.differences(readings)

    def effect(self, readings: Readings, mean_difference: float) -> float:
        """The same number: a difference of gains has no natural unit."""
        return mean_difference
