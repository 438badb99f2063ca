"""Terms about differences whose mean should be positive: the t test.

The differences are paired, one per seed, unless a term compares arms whose runs are not: then each
arm is a sample by itself (`two_samples`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from repro.judge.design import Design, OneLook
from repro.judge.effect import Effect
from repro.judge.evidence import ROUNDING, Evidence, weigh
from repro.judge.scale import Array, Scale
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


UNSHIFTED = Bound()
"""The bound that is the right side itself."""


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
            examples=evidence.examples,
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
            examples=effect.examples,
        )

    def _correlation(self, readings: Readings) -> float | None:
        if not self.is_paired:
            return None
        left, right = self.parts(readings)
        # A spread that is only rounding is nothing to correlate.
        if min(np.ptp(left) / size_of(left), np.ptp(right) / size_of(right)) <= ROUNDING:
            return None
        # numpy's own functions for it take ten times as long for a few seeds
        left, right = left - left.mean(), right - right.mean()
        return float(left @ right / ((left @ left) * (right @ right)) ** 0.5)


def size_of(values: Array) -> Any:
    """Return the largest absolute value over seeds, or 1 where all are 0."""
    size = np.abs(values).max(axis=0)
    return np.where(size > 0, size, 1.0)
