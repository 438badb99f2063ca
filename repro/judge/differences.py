"""The terms about differences over seeds: of two sides, of the weakest pair, of two gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from repro.judge.evidence import ROUNDING, Evidence
from repro.judge.paired import UNSHIFTED, Bound, Paired, size_of
from repro.judge.scale import Array, Scale, ScaleError
from repro.judge.terms import Readings, Side


def _are_tied(left: Array, right: Array) -> Any:
    """Return whether both sides have the same values, seed by seed or each the same throughout."""
    if len(left) == len(right):
        return np.abs(left - right).max(axis=0) <= ROUNDING * size_of(left)
    both = np.concatenate([left, right])
    return np.ptp(both, axis=0) <= ROUNDING * size_of(both)


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
    bound: Bound = UNSHIFTED
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
    bound: Bound = UNSHIFTED
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
