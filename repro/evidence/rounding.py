"""Results of one run from two processors: is their difference what rounding gives?

Another processor adds up in another order, and training makes the difference grow, in some runs a
lot. How much, is measured on the run itself: it is trained twice here, as usual and as another
processor would round. By any epoch the packed result may differ from the one here `MARGIN` times as
much as these two do by then, and by `HARMLESS` in any case.

Differences are counted in the spread between the seeds of an arm, as verdicts are made of that.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro.arm import Arm, Values

MARGIN = 10.0

HARMLESS = 0.1
"""The part of the spread between seeds that a difference may have in any case."""

BLIND = 0.5
"""The part of the spread from which on it is said that final values could not be compared."""

FEWEST_SEEDS = 3

UNKNOWN = 0.01
"""The spread of an arm with fewer seeds, as a part of the value itself."""

Place = tuple[float, str]
"""The epoch that a metric was measured at, infinite for what a run ended with, and its name."""

Numbers = dict[Place, list[float]]


def numbers(arm: Arm, values: Values) -> Numbers:
    """Return the numbers of a result, those of one place together.

    Lists with a value for each example are left out: another metric is their mean.

    >>> numbers(arm, {"measures": {"slope": 0.5}, "history": {"loss": [0.3]}, "steps": 9})
    {(inf, 'slope'): [0.5], (1, 'loss'): [0.3]}
    """
    by_example = {metric.sampled for metric in type(arm).metrics.values()}
    found = {(math.inf, name): _flat(x) for name, x in values.get("measures", {}).items()}
    for name, series in values["history"].items():
        epochs = arm.epochs_known(measured=name != "loss") or [0]
        found |= {(n, name): _flat(x) for n, x in zip(epochs, series, strict=False)}
    return {place: each for place, each in found.items() if place[1] not in by_example}


def _flat(value: object) -> list[float]:
    if isinstance(value, list):
        return [number for each in value for number in _flat(each)]
    return [] if value is None else [float(value)]  # type: ignore[arg-type]


Spreads = Mapping[Place, float]


def spreads(seeds: Sequence[Numbers]) -> Spreads:
    """Return the standard deviation over the seeds of an arm at each place, where it has enough.

    >>> spreads([{(1, "loss"): [x]} for x in (1.0, 2.0, 3.0)])
    {(1, 'loss'): 1.0}
    """
    places = {place for each in seeds for place in each}
    found = {}
    for place in places:
        columns = zip(*(each[place] for each in seeds if place in each), strict=False)
        variances = [statistics.variance(x) for x in columns if len(x) >= FEWEST_SEEDS]
        if variances:
            found[place] = math.sqrt(statistics.fmean(variances))
    return found


def distances(one: Numbers, other: Numbers, among: Spreads) -> dict[Place, float]:
    """Return the largest difference at each place that two results have, in spreads between seeds.

    >>> distances({(1, "loss"): [1.0]}, {(1, "loss"): [1.5]}, {(1, "loss"): 2.0})
    {(1, 'loss'): 0.25}
    """
    return {
        place: max(_steps(one[place], other[place], among.get(place)), default=0.0)
        for place in one
        if place in other
    }


def _steps(one: Sequence[float], other: Sequence[float], spread: float | None) -> Iterator[float]:
    for a, b in zip(one, other, strict=False):
        unit = UNKNOWN * max(abs(a), abs(b)) if spread is None else spread
        yield 0.0 if a == b else abs(a - b) / unit if unit > 0 else math.inf


@dataclass(frozen=True)
class Difference:
    """The place at which a result is farthest from what rounding allows; in spreads of seeds."""

    place: Place
    found: float
    measured: float
    """The largest difference that rounding gave by then."""

    @property
    def allowed(self) -> float:
        return max(HARMLESS, MARGIN * self.measured)

    @property
    def is_rounding(self) -> bool:
        return self.found <= self.allowed

    @property
    def where(self) -> str:
        """The place in words."""
        epoch, metric = self.place
        return metric if epoch == math.inf else f"{metric} after epoch {epoch:g}"


def worst(found: Mapping[Place, float], measured: Mapping[Place, float]) -> Difference | None:
    """Return the difference that is farthest from what rounding allows; None where there is none.

    >>> worst({(1, "loss"): 0.3}, {(1, "loss"): 0.001}).is_rounding
    False
    """
    differences = []
    largest = 0.0
    for epoch in sorted({epoch for epoch, _ in [*found, *measured]}):
        largest = max([largest, *(x for place, x in measured.items() if place[0] == epoch)])
        here = {place: x for place, x in found.items() if place[0] == epoch}
        differences += [Difference(place, x, largest) for place, x in here.items()]
    return max(differences, key=lambda each: each.found / each.allowed, default=None)
