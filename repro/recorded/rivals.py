"""The arms that could be compared in the place of another: those that differ in one setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from repro.recorded.runs import Chosen, RecordedArmRuns

Ordered = list[tuple[float, Chosen]]
"""Arms with the mean of a metric, in its order."""


@dataclass(frozen=True)
class Rank:
    """The mean of one arm beside the lowest and the highest of its rivals."""

    own: float
    lowest: float
    highest: float
    rivals: int


class Rivals:
    """The rivals of each arm of a record; thousands of claims may ask."""

    def __init__(self, arms: Mapping[Chosen, RecordedArmRuns]) -> None:
        self._arms = arms
        self._ordered: dict[tuple[int, Chosen, str], Ordered] = {}
        self._means: dict[tuple[Chosen, str], float | None] = {}

    def rank(self, chosen: Chosen, metric: str, *, beside: Chosen) -> Rank | None:
        """Return how an arm that is compared with another stands among those that could be.

        An arm of which a run has no number is no rival. None where the arm itself is such a one,
        or nothing but one arm could be compared.
        """
        own = self._mean(chosen, metric)
        if own is None or chosen == beside:
            return None
        groups = [self._in_order(place, chosen, metric) for place in range(len(chosen))]
        ends = [pair for group in groups for pair in (*group[:3], *group[-3:])]
        means = [mean for mean, each in ends if each not in (chosen, beside)]
        is_rival = sum(a != b for a, b in zip(chosen, beside, strict=False)) == 1
        is_among = is_rival and self._mean(beside, metric) is not None
        rivals = sum(len(group) - 1 for group in groups) - is_among
        return Rank(own, min(means), max(means), rivals) if rivals > 1 else None

    def _in_order(self, place: int, chosen: Chosen, metric: str) -> Ordered:
        """Return the arms that differ from one at a place, and itself, by their means."""
        others = _without(chosen, place)
        if (place, others, metric) not in self._ordered:
            means = [(self._mean(each, metric), each) for each in self._alike[place, others]]
            known = [(mean, each) for mean, each in means if mean is not None]
            self._ordered[place, others, metric] = sorted(known, key=lambda pair: pair[0])
        return self._ordered[place, others, metric]

    @cached_property
    def _alike(self) -> dict[tuple[int, Chosen], list[Chosen]]:
        """The arms that are the same but for the setting at one place."""
        alike: dict[tuple[int, Chosen], list[Chosen]] = {}
        for chosen in self._arms:
            for place in range(len(chosen)):
                alike.setdefault((place, _without(chosen, place)), []).append(chosen)
        return alike

    def _mean(self, chosen: Chosen, metric: str) -> float | None:
        if chosen not in self._arms:  # it is of another record
            return None
        if (chosen, metric) not in self._means:
            values = [run.measures.get(metric) for run in self._arms[chosen].runs.values()]
            numbers = [value for value in values if isinstance(value, float)]
            is_whole = numbers and len(numbers) == len(values)
            self._means[chosen, metric] = fmean(numbers) if is_whole else None
        return self._means[chosen, metric]


def _without(chosen: Chosen, place: int) -> Chosen:
    return chosen[:place] + chosen[place + 1 :]
