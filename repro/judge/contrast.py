"""Statements and their terms: comparisons of two sides, or of two gains, over seeds.

A term is judged by a t test of paired differences. Arms whose runs are not paired are independent
samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from repro.judge.comparison import (
    ALL_THERE_ARE,
    ROUNDING,
    Drawn,
    Evidence,
    Group,
    SameSpread,
    weigh,
)
from repro.judge.effect import Effect
from repro.judge.sample import Runs
from repro.judge.scale import Array, Scale, ScaleError


@dataclass(frozen=True)
class Documented:
    """The number that a source prints of an arm: one run, or the mean of `runs` runs."""

    number: float
    runs: int = 1
    paired: bool = True
    """True where the source trained its arms with the same seeds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Side:
    """One side of a comparison: the values of an arm over seeds, or a fixed number."""

    label: str
    metric: str
    scale: Scale = Scale("identity")  # noqa: RUF009 - frozen
    values: Callable[[int], Array]
    by_example: Callable[[int], Array] | None = None
    """The values of single examples, [seeds, examples]; `values` are their means.

    Given where a comparison should count the error of having only these examples.
    """
    is_fixed: bool = False
    is_exact: bool = False
    """True where no seed can change the values, such as a number of parameters."""
    pairing: object = None
    """Names the runs behind the values: sides with different pairings are independent samples.

    None for an arm whose seeds are paired with the same seeds of all other such arms.
    """
    runs: Callable[[int], Runs] | None = None
    """The first `n` runs with all their values, to tell which of them repeat others."""
    word: str = "seeds"
    """The word for what a sample counts: `seeds`, or `runs` where these have no seeds."""
    alike: Callable[[], Sequence[Array]] | None = None
    """The values of all arms that are declared to have one spread, if that is declared."""
    documented: Documented | None = None
    """The number that the source prints of the side, if the claim gives it."""
    origin: Any = None
    """The arm and the metric, if known; two sides with the same origin are not compared."""

    def left_out(self, count: int) -> frozenset[int]:
        """Return the places of runs that are left out because they repeat others."""
        return self.runs(count).left_out if self.runs and not self.is_exact else frozenset()


Readings: TypeAlias = Mapping[Side, Array]
"""The values of each side; paired sides have the same seeds in the same order.

A side with a `pairing` of its own may have fewer values; a fixed side has as many as any.
"""


def fixed(number: float, like: Side) -> Side:
    """A side that is a number, such as a documented value."""
    return Side(
        label=f"{number:g}",
        metric=like.metric,
        scale=like.scale,
        values=lambda seeds: np.full(seeds, number),
        is_fixed=True,
        is_exact=True,
    )


@dataclass(frozen=True)
class Bound:
    """The bound for the left side: the right side `times` a ratio, or `plus` an amount."""

    times: float | None = None
    plus: float = 0.0

    def of(self, right: Array) -> Array:
        return right + self.plus if self.times is None else right * self.times

    def label(self, right: str) -> str:
        if self.times is not None:
            return f"{right} times {self.times:g}"
        if self.plus == 0:
            return right
        return f"{right} {'+' if self.plus > 0 else '-'} {abs(self.plus):g}"


UNSHIFTED = Bound()
"""The right side itself as the bound."""


@dataclass(frozen=True)
class Contrast:
    """The term that the first side lies above, or `below`, the second shifted by `bound`.

    With four sides, the term is that the first minus the second exceeds the third minus the fourth.
    Differences are taken on the scale. Other kinds of terms are subclasses.
    """

    sides: tuple[Side, ...]
    bound: Bound = UNSHIFTED
    below: bool = False
    other_bound: Bound | None = None
    """The opposite bound, where this term is one of the two sides of a margin."""
    among: Callable[[int], int] | None = None
    """For a term that is the weakest of several comparisons: their number, given the seeds."""

    @cached_property
    def metric(self) -> str:
        return self.sides[0].metric

    @cached_property
    def scale(self) -> Scale:
        return self.sides[0].scale

    @property
    def word(self) -> str:
        """The word for what a sample counts: `seeds`, or `runs` where these have no seeds."""
        return "runs" if any(side.word == "runs" for side in self.sides) else "seeds"

    @cached_property
    def is_paired(self) -> bool:
        """False where the sides are independent samples."""
        return len({side.pairing for side in self.sides if not side.is_fixed}) < 2

    @cached_property
    def is_exact(self) -> bool:
        """True where no side depends on the seed."""
        return all(side.is_exact for side in self.sides)

    @cached_property
    def is_gain(self) -> bool:
        return len(self.sides) == 4

    @property
    def label(self) -> str:
        sign = "-" if self.times is None else "/"
        if self.is_gain:
            high, low, other_high, other_low = (side.label for side in self.sides)
            return f"({high} {sign} {low}) {sign} ({other_high} {sign} {other_low})"
        return f"{self.sides[0].label} {sign} {self.sides[1].label}"

    @cached_property
    def times(self) -> float | None:
        """The bound of a ratio; None where effects are differences.

        On the log scale two arms are compared by their ratio, and two gains by the ratio of both.
        """
        is_by_logs = self.scale.name == "log" and not any(side.is_fixed for side in self.sides)
        return 1.0 if is_by_logs and self.bound == UNSHIFTED else self.bound.times

    @property
    def unit(self) -> str:
        """The natural unit; for a difference of gains, the metric on its scale."""
        if self.times is not None:
            return "ratio"
        is_scaled = self.is_gain and self.scale.name != "identity"
        return f"{self.scale.name} of {self.metric}" if is_scaled else self.metric

    def sampled(self, readings: Readings) -> Sampled:
        """Leave out runs that repeat others, and the runs that are paired with them.

        Sides of which every run is the same, as their arms declare, become exact.
        """
        runs = {
            side: side.runs(len(readings[side]))
            for side in self.sides
            if side.runs is not None and not side.is_exact
        }
        left_out = {side: of_side.left_out for side, of_side in runs.items()}
        if self.is_paired:
            left_out = dict.fromkeys(self.sides, frozenset[int]().union(*left_out.values()))
        kept = {
            side: [i for i in range(len(readings[side])) if i not in left_out.get(side, ())]
            for side in self.sides
        }
        measured = [side for side in self.sides if not (side.is_fixed or side.is_exact)]
        are_alike = bool(measured) and all(x in runs and runs[x].are_alike for x in measured)
        is_sample = not are_alike and all(len(kept[side]) > 1 for side in runs)
        are_fixed = any(of_side.are_fixed for of_side in runs.values())
        if not is_sample or not (are_fixed or any(left_out.values())):
            return Sampled(self, self, readings, runs, is_sample)
        sides = {
            side: replace(
                side,
                is_exact=side.is_exact or (side in runs and runs[side].are_fixed),
                by_example=side.by_example and partial(_answers, side.by_example, kept[side]),
            )
            for side in kept
        }
        readings = {new: readings[side][kept[side]] for side, new in sides.items()}
        of_sample = replace(self, sides=tuple(sides[side] for side in self.sides))
        return Sampled(self, of_sample, readings, runs)

    def weigh(self, readings: Readings) -> Evidence:
        """Test the differences by t; values within rounding of each other count as equal.

        Only one of the two sides of a margin can fail, so they do not share the level: the p
        against is the chance of a difference as far outside the margin on either side, if the true
        difference lies at this bound (the p of an interval null, Hodges and Lehmann 1954).
        """
        evidence = self._weighed(readings)
        if self.among is not None:
            return replace(evidence, weight=float(self.among(evidence.seeds)))
        if self.other_bound is None:
            return evidence
        other = replace(self, bound=self.other_bound, below=not self.below, other_bound=None)
        if np.all(other.is_trivial(readings)):
            return evidence
        as_far_out = evidence.p_against + other.weigh(readings).p_for
        return replace(evidence, p_against=np.minimum(1.0, as_far_out)[()], weight=0.5)

    def describe(self, evidence: Evidence, readings: Readings) -> Effect:
        """Describe it for the verdict."""
        mean, error = float(evidence.mean), float(evidence.error)
        half_width = float(evidence.half_width) if error else 0.0
        left, right = self.halves(readings)
        ends = mean - half_width, mean + half_width
        estimate, *interval = self.natural(right, mean, *ends)
        certain = np.inf if evidence.p_for == 0 else -np.inf
        return Effect(
            **vars(evidence),
            label=self.label,
            unit=self.unit,
            bound=self.bound.plus if self.times is None else self.times,
            below=self.below,
            plain=self.of_means(readings, estimate),
            scale=self.scale.name,
            estimate=estimate,
            low=min(interval),
            high=max(interval),
            distance=mean / error / evidence.seeds**0.5 if error else certain,
            correlation=_correlation(left, right) if self.is_paired else None,
            per_seed=self.on_each_seed(readings) if self.is_paired else (),
        )

    def is_trivial(self, readings: Readings) -> Any:
        """Return True where no value of the metric could fail the term."""
        if self.bound == UNSHIFTED:
            return False
        return self.scale.is_beyond(self.bound.of(readings[self.sides[1]]), above=self.below)

    def halves(self, readings: Readings) -> tuple[Array, Array]:
        """The two sides, or the two gains, whose difference is judged; on the scale."""
        values = self.on_scale(readings)
        if self.is_gain:
            return values[0] - values[1], values[2] - values[3]
        return values[0], values[1]

    def differences(self, readings: Readings) -> Array:
        """The difference on each seed, positive where the term holds."""
        left, right = self.halves(readings)
        return right - left if self.below else left - right

    def on_each_seed(self, readings: Readings) -> tuple[float, ...]:
        """The effect on each seed alone, in the natural unit."""
        if self.is_gain:
            differences = self.differences(readings)
            each = differences if self.times is None else np.exp(differences)
        else:
            left, right = self._read(readings)
            each = left - right if self.times is None else left / right
        return tuple(each.tolist())

    def of_means(self, readings: Readings, estimate: float) -> float:
        """Return the effect between the means; on the identity scale this is the estimate."""
        if self.scale.name == "identity":
            return estimate
        means = [float(values.mean()) for values in self._read(readings)]
        if self.times is not None:
            return means[0] / means[1] / (means[2] / means[3] if self.is_gain else 1.0)
        effect = means[0] - means[1]
        if self.is_gain:
            effect -= means[2] - means[3]
        return effect if abs(effect) > ROUNDING * max(map(abs, means)) else 0.0

    def natural(self, right: Array, *means: float) -> list[float]:
        """Convert mean differences on the scale into natural units.

        Gains become ratios on the log scale, and stay as they are on the others.

        Effects start at the mean of the right side on the scale. So an interval of mean differences
        excludes 0 exactly where the converted interval excludes the bound.
        """
        if self.is_gain:
            return list(means if self.times is None else np.exp(means).tolist())
        reference, sign = right.mean(), -1 if self.below else 1
        at_bound = self.scale.back(reference)
        reached = self.scale.back(reference + sign * np.array(means))
        if self.times is not None:
            effects = reached / at_bound * self.times
        else:
            effects = reached - at_bound + self.bound.plus
            effects[np.abs(effects) <= ROUNDING * np.abs(at_bound)] = 0.0
        return list(effects.tolist())

    def require_paired(self, word: str) -> None:
        """Raise ValueError where a word compares seed by seed, but the runs are not paired."""
        if not self.is_paired:
            left, right = self.sides
            raise ValueError(
                f"{word} compares {left.label} and {right.label} seed by seed,"
                " and their runs are not paired: say paired=True if one seed is the same start and"
                " the same data order in both, or claim their means."
            )

    def _weighed(self, readings: Readings) -> Evidence:
        """Test the differences; sides that are equal on every seed are no evidence.

        Paired sides are one sample together; each unpaired side is a sample of its own.
        """
        groups: dict[object, Group] = {}
        signs = (-1, 1) if self.below else (1, -1, -1, 1)
        for side, sign, values in zip(self.sides, signs, self.on_scale(readings), strict=False):
            runs = None if self.is_paired else side.pairing
            so_far = groups.get(runs, Group(np.zeros(1)))
            floor, smallest = self.scale.half_example(values), ROUNDING * np.abs(values).max(axis=0)
            groups[runs] = Group(
                so_far.values + sign * values,
                np.maximum(so_far.floor, floor),
                np.maximum(so_far.resolution, smallest),
            )
        evidence = weigh(
            list(groups.values()),
            exact=self.is_exact,
            drawn=self._drawn(len(groups[None].values)) if self.is_paired else ALL_THERE_ARE,
            same=self.same_spread,
        )
        if self.is_gain or self.is_exact or evidence.fixed_variance:
            return evidence
        return replace(
            evidence, is_constant=(evidence.is_constant | _are_tied(*self._read(readings)))[()]
        )

    @cached_property
    def same_spread(self) -> SameSpread | None:
        """The spread that all arms are declared to have, on the scale; None without that."""
        alike = next((side.alike for side in self.sides if side.alike is not None), None)
        if alike is None:
            return None
        what = f"{self.metric} of an arm"
        return SameSpread.of([self.scale.of(values, what) for values in alike()])

    def _drawn(self, seeds: int) -> Drawn:
        """The error of the mean difference because only these examples were measured.

        All seeds share the examples, so this is an error of the mean over seeds. A part of it is
        the interaction of seeds and examples, which shrinks with more seeds.
        """
        weights = (1.0, -(self.bound.times or 1.0), -1.0, 1.0)
        weighted = [
            weight * side.by_example(seeds)
            for weight, side in zip(weights, self.sides, strict=False)
            if side.by_example
        ]
        if not weighted:
            return ALL_THERE_ARE
        differences: Array = np.sum(weighted, axis=0)
        of_examples = differences.mean(axis=0)
        rest = differences - of_examples
        rest -= rest.mean(axis=1, keepdims=True)
        count = len(of_examples)
        squares = float((rest**2).sum()) / ((seeds - 1) * (count - 1))
        return Drawn(float(of_examples.var(ddof=1) / count), squares / (seeds * count), count)

    def on_scale(self, readings: Readings) -> list[Array]:
        """The values of each side on the scale; a bound shifts the right side first."""
        values = self._read(readings)
        names = [f"{self.metric} of {side.label}" for side in self.sides]
        if self.bound != UNSHIFTED:
            right = values[1]
            self.scale.of(right, names[1])
            if self.bound.times is not None and np.any(right <= 0):
                raise ScaleError(
                    f"{names[1]} is {right[right <= 0].flat[0]:.6g}: a "
                    "ratio says nothing where values are not positive; claim a difference, "
                    "by_at_least=..."
                )
            values[1] = self.scale.kept_inside(self.bound.of(right))
            names[1] = self.bound.label(names[1])
        return [self.scale.of(each, name) for each, name in zip(values, names, strict=True)]

    def _read(self, readings: Readings) -> list[Array]:
        """Return the values of all sides; a fixed number is repeated as often as the other side."""
        values = list(map(readings.__getitem__, self.sides))
        if self.is_paired and len(values[0]) != len(values[1]):
            seeds = min(map(len, values))
            return [each[:seeds] for each in values]
        return values


@dataclass(frozen=True)
class Sampled:
    """A term, and the readings of its distinct runs."""

    claimed: Contrast
    """The term with all runs."""
    term: Contrast
    readings: Readings
    runs: Mapping[Side, Runs]
    """All runs behind its sides, without those of exact metrics."""
    is_sample: bool = True
    """False where all sides repeat one run, or fewer than two runs of a side are left."""

    @property
    def is_whole(self) -> bool:
        """True for a sample of which no run is left out."""
        return self.is_sample and not any(runs.left_out for runs in self.runs.values())


@dataclass(frozen=True)
class Statement:
    """A sentence that can be judged, and its terms: all of them have to hold.

    `implied` comparisons follow from the terms. They need not be shown, but each can refute the
    statement. `documented` is the number of the source, if the sentence has one.
    """

    text: str
    terms: tuple[Contrast, ...]
    implied: tuple[Contrast, ...] = ()
    documented: float | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side once, in the order of first mention."""
        return tuple(dict.fromkeys([side for term in self.terms for side in term.sides]))


def _answers(by_example: Callable[[int], Array], kept: list[int], seeds: int) -> Array:
    """Return the values of single examples on the first of the seeds that are kept."""
    return by_example(kept[-1] + 1)[kept[:seeds]]


def rounding(left: Array, right: Array) -> Any:
    """Return the largest difference of two values that counts as rounding."""
    return ROUNDING * np.maximum(np.abs(left).max(axis=0), np.abs(right).max(axis=0))


def _size_of(values: Array) -> Any:
    """Return the largest absolute value over seeds, or 1 where all are 0."""
    size = np.abs(values).max(axis=0)
    return np.where(size > 0, size, 1.0)


def _correlation(left: Array, right: Array) -> float | None:
    """Pearson's r of both sides over seeds: the higher, the more the pairing helps."""
    # A spread that is only rounding has no correlation.
    if min(np.ptp(left) / _size_of(left), np.ptp(right) / _size_of(right)) <= ROUNDING:
        return None
    # numpy.corrcoef takes ten times as long for a few seeds
    left, right = left - left.mean(), right - right.mean()
    return float(left @ right / ((left @ left) * (right @ right)) ** 0.5)


def _are_tied(left: Array, right: Array) -> Any:
    """Return whether both sides are equal on every seed; with unequal counts, all values equal."""
    if len(left) == len(right):
        return np.abs(left - right).max(axis=0) <= ROUNDING * _size_of(left)
    both = np.concatenate([left, right])
    return np.ptp(both, axis=0) <= ROUNDING * _size_of(both)
