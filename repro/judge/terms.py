"""What every statement reduces to: terms, each a paired difference that should be positive.

The words of the vocabulary differ only in the terms they make. A statement holds when all of its
terms do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from repro.judge.scale import Array, Scale


class Side(Protocol):
    """One side of a comparison: a measured arm, or a fixed number."""

    @property
    def label(self) -> str: ...
    @property
    def is_fixed(self) -> bool: ...
    def values(self, seeds: int, /) -> Array: ...


Readings: TypeAlias = Mapping[Side, Array]
"""The values of each side, over the same seeds in the same order."""


@dataclass(frozen=True)
class Fixed:
    """A number that does not depend on the seed, such as a documented value."""

    value: float

    @property
    def label(self) -> str:
        return f"{self.value:g}"

    @property
    def is_fixed(self) -> bool:
        return True

    def values(self, seeds: int, /) -> Array:
        return np.full(seeds, self.value)


@dataclass(frozen=True)
class Bound:
    """What the left side is compared with: the right side `times` a ratio `plus` an amount."""

    times: float = 1.0
    plus: float = 0.0

    @property
    def is_ratio(self) -> bool:
        return self.times != 1.0

    @property
    def value(self) -> float:
        return self.times if self.is_ratio else self.plus

    def label(self, right: str) -> str:
        if self.is_ratio:
            return f"{right} times {self.times:g}"
        if self.plus == 0:
            return right
        return f"{right} {'+' if self.plus > 0 else '-'} {abs(self.plus):g}"


@dataclass(frozen=True)
class Comparison:
    """`left` lies above (or `below`) `right` shifted by `bound`, on the scale."""

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
    def label(self) -> str:
        sign = "/" if self.bound.is_ratio else "-"
        return f"{self.left.label} {sign} {self.right.label}"

    @property
    def unit(self) -> str:
        return "ratio" if self.bound.is_ratio else self.metric

    def parts(self, readings: Readings) -> tuple[Array, Array]:
        """Left and shifted right on the scale; their difference (turned if `below`) is judged."""
        right = readings[self.right]
        name = self.bound.label(self.right.label)
        shifted = right
        if self.bound != Bound():
            self.scale.of(right, f"{self.metric} of {self.right.label}")
            shifted = right * self.bound.times + self.bound.plus
        return (
            self.scale.of(readings[self.left], f"{self.metric} of {self.left.label}"),
            self.scale.of(shifted, f"{self.metric} of {name}"),
        )

    def differences(self, readings: Readings) -> Array:
        left, right = self.parts(readings)
        return right - left if self.below else left - right

    def effect(self, readings: Readings, mean_difference: float) -> float:
        """Left against right in natural units, where their mean difference on the scale is this.

        Measured from the mean of the right side on the scale, so that an interval of mean
        differences excludes 0 exactly where its image excludes the bound.
        """
        reference = self.parts(readings)[1].mean()
        sign = -1 if self.below else 1
        at_bound = self.scale.back(reference)
        reached = self.scale.back(reference + sign * mean_difference)
        if self.bound.is_ratio:
            return float(reached / at_bound * self.bound.times)
        return float(reached - at_bound + self.bound.plus)


@dataclass(frozen=True)
class GainComparison:
    """The step from `low` to `high` is larger than the step from `other_low` to `other_high`."""

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

    def effect(self, readings: Readings, mean_difference: float) -> float:
        """A difference of gains has no natural unit: it is reported on the scale."""
        return mean_difference


Term: TypeAlias = Comparison | GainComparison


@dataclass(frozen=True)
class Statement:
    """A sentence that can be judged, and the terms that all have to hold.

    `also` are comparisons that follow from the terms; they are reported and decide nothing.
    """

    text: str
    scale: Scale
    terms: tuple[Term, ...]
    also: tuple[Term, ...] = ()

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side once, in the order of first mention."""
        return tuple(dict.fromkeys(side for term in self.terms for side in term.sides))
