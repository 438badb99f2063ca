"""Decides whether two results of one run differ only by the rounding of two processors.

Another processor adds in another order, which changes the last digits. Training makes this
difference grow from epoch to epoch, in some runs until it is as large as between seeds. But an
edited result, or the result of another run, differs from the start. So at each epoch two results
may differ by `GROWTH` times as much as at earlier epochs, and always by `HARMLESS`.

The unit is the spread between the seeds of an arm, since verdicts depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Values

GROWTH = 10_000.0
"""The largest allowed growth per epoch: three times the largest that was observed."""

HARMLESS = 0.1
"""A difference that is always allowed, in spreads between seeds."""

FEWEST_SEEDS = 3

UNKNOWN = 0.01
"""The assumed spread of an arm with fewer seeds, relative to the value."""

Place = tuple[float, str]
"""The epoch of a measurement (infinite for the final value), and the name of the metric."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """The difference of two results where it exceeds the allowed one the most."""

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
    """Return the worst difference, compared with rounding; None if the results share no number.

    `seeds` are the results of all seeds of the arm.

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
    """Return the largest difference of two lists of numbers, in spreads between seeds."""
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
    """Return the numbers of a result by place.

    Lists with a value for each example are left out, since another metric is their mean.
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
