"""The difference of two results of one run: is it what the rounding of two processors gives?

Another processor adds up in another order. That changes the last digits, and training makes the
difference grow from epoch to epoch, in some runs as far as seeds differ. What somebody edited, or
what another run gave, differs at once. So by an epoch two results may differ by `GROWTH` times as
much as they did before, and by `HARMLESS` in any case.

Differences are counted in the spread between the seeds of an arm, as verdicts are made of that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Values

GROWTH = 10_000.0
"""The most that rounding was seen to grow in an epoch is a third of it."""

HARMLESS = 0.1
"""The part of the spread between seeds that a difference may have in any case."""

FEWEST_SEEDS = 3

UNKNOWN = 0.01
"""The spread of an arm with fewer seeds, as a part of the value itself."""

Place = tuple[float, str]
"""The epoch that a metric was measured at, infinite for what a run ended with, and its name."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """The difference of two results at the place where it is farthest from what is allowed."""

    place: Place
    found: float
    """In spreads between seeds."""
    allowed: float

    @property
    def is_rounding(self) -> bool:
        return self.found <= self.allowed

    def __str__(self) -> str:
        epoch, metric = self.place
        where = metric if epoch == math.inf else f"{metric} after epoch {epoch:g}"
        return (
            f"its {where} differs by {self.found:.2g} of the spread between seeds, where rounding"
            f" gives at most {self.allowed:.2g}"
        )


def difference(
    arm: Arm, one: Values, other: Values, *, seeds: Sequence[Values]
) -> Difference | None:
    """Return the difference that is farthest from what rounding allows; None where none is shared.

    `seeds` are the results of the arm at all its seeds.

    >>> difference(arm, packed, here, seeds=[]).is_rounding
    False
    """
    ours, theirs = _numbers(arm, one), _numbers(arm, other)
    of_seeds = [_numbers(arm, values) for values in seeds]
    found, before = [], 0.0
    for epoch in sorted({epoch for epoch, _ in ours}):
        allowed = max(HARMLESS, GROWTH * before)
        for place in (each for each in ours if each[0] == epoch and each in theirs):
            known = [numbers[place] for numbers in of_seeds if place in numbers]
            distance = _distance(ours[place], theirs[place], known)
            found.append(Difference(place, distance, allowed))
            before = max(before, distance)
    return max(found, key=lambda each: each.found / each.allowed, default=None)


def _distance(one: Array, other: Array, seeds: Sequence[Array]) -> float:
    """Return the largest difference of two lists of numbers, in the spread between seeds."""
    if len(one) != len(other):
        return math.inf
    alike = [each for each in seeds if len(each) == len(one)]
    spread = UNKNOWN * np.maximum(np.abs(one), np.abs(other))
    if len(alike) >= FEWEST_SEEDS and len(one):
        spread = np.sqrt(np.var(alike, axis=0, ddof=1).mean())
    apart = np.abs(one - other)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(apart == 0, 0.0, apart / spread), initial=0.0))


def _numbers(arm: Arm, values: Values) -> Mapping[Place, Array]:
    """Return the numbers of a result, those of one place together.

    Lists with a value for each example are left out: another metric is their mean.
    """
    by_example = {metric.sampled for metric in type(arm).metrics.values()}
    found = {(math.inf, name): x for name, x in values.get("measures", {}).items()}
    for name, series in values["history"].items():
        epochs = arm.epochs_known(measured=name != "loss") or [0]
        found |= {(n, name): x for n, x in zip(epochs, series, strict=False)}
    return {place: np.array(_flat(x)) for place, x in found.items() if place[1] not in by_example}


def _flat(value: object) -> list[float]:
    if isinstance(value, list):
        return [number for each in value for number in _flat(each)]
    return [] if value is None else [float(value)]  # type: ignore[arg-type]
