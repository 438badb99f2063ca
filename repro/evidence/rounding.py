"""Results of one run from two processors: is their difference what rounding gives?

Another processor adds up in another order. That changes the last digits, and training makes the
difference grow from epoch to epoch, in some runs as far as seeds differ. What somebody edited, or
what another run gave, differs at once. So by an epoch two results may differ by `GROWTH` times as
much as they did before, and by `HARMLESS` in any case.

Differences are counted in the spread between the seeds of an arm, as verdicts are made of that.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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

Numbers = dict[Place, list[float]]


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


def difference(one: Numbers, other: Numbers, seeds: Sequence[Numbers]) -> Difference | None:
    """Return the difference that is farthest from what rounding allows; None where none is shared.

    `seeds` are the results of the arm at all its seeds.

    >>> difference({(1, "loss"): [0.5]}, {(1, "loss"): [0.8]}, []).is_rounding
    False
    """
    found = _distances(one, other, _spreads(seeds))
    differences, before = [], 0.0
    for epoch in sorted({epoch for epoch, _ in found}):
        here = {place: x for place, x in found.items() if place[0] == epoch}
        allowed = max(HARMLESS, GROWTH * before)
        differences += [Difference(place, x, allowed) for place, x in here.items()]
        before = max(before, *here.values())
    return max(differences, key=lambda each: each.found / each.allowed, default=None)


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


def _spreads(seeds: Sequence[Numbers]) -> dict[Place, float]:
    """Return the standard deviation over the seeds of an arm at each place, where it has enough."""
    found = {}
    for place in {place for each in seeds for place in each}:
        columns = zip(*(each[place] for each in seeds if place in each), strict=False)
        variances = [statistics.variance(x) for x in columns if len(x) >= FEWEST_SEEDS]
        if variances:
            found[place] = math.sqrt(statistics.fmean(variances))
    return found


def _distances(one: Numbers, other: Numbers, among: Mapping[Place, float]) -> dict[Place, float]:
    """Return the largest difference at each place that two results have, in spreads."""
    return {
        place: max(_steps(one[place], other[place], among.get(place)), default=0.0)
        for place in one
        if place in other
    }


def _steps(one: Sequence[float], other: Sequence[float], spread: float | None) -> Iterator[float]:
    for a, b in zip(one, other, strict=False):
        unit = UNKNOWN * max(abs(a), abs(b)) if spread is None else spread
        yield 0.0 if a == b else abs(a - b) / unit if unit > 0 else math.inf
