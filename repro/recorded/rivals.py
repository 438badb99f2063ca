"""The arms that could be compared in the place of another: those that differ in one setting."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from statistics import fmean

from repro.recorded.runs import Chosen, RecordedArmRuns


class Rivals:
    """The rivals of each arm of a record; thousands of claims may ask."""

    def __init__(self, arms: Mapping[Chosen, RecordedArmRuns]) -> None:
        self._arms = arms
        self._means: dict[tuple[Chosen, str], float | None] = {}

    def means(self, chosen: Chosen, metric: str, *, beside: Chosen) -> tuple[float, list[float]]:
        """Return the mean of an arm, and those of its rivals but for one that it is compared with.

        An arm of which a run has no number is no rival; if the arm itself is one, it has none.
        """
        own = self._mean(chosen, metric)
        if own is None or chosen == beside:
            return 0.0, []
        rivals = {
            each
            for place in range(len(chosen))
            for each in self._alike[place, _without(chosen, place)]
        }
        found = [self._mean(each, metric) for each in rivals - {chosen, beside}]
        return own, [mean for mean in found if mean is not None]

    @cached_property
    def _alike(self) -> dict[tuple[int, Chosen], list[Chosen]]:
        """The arms that are the same but for the setting at one place."""
        alike: dict[tuple[int, Chosen], list[Chosen]] = {}
        for chosen in self._arms:
            for place in range(len(chosen)):
                alike.setdefault((place, _without(chosen, place)), []).append(chosen)
        return alike

    def _mean(self, chosen: Chosen, metric: str) -> float | None:
        if (chosen, metric) not in self._means:
            values = [run.measures.get(metric) for run in self._arms[chosen].runs.values()]
            numbers = [value for value in values if isinstance(value, float)]
            is_whole = numbers and len(numbers) == len(values)
            self._means[chosen, metric] = fmean(numbers) if is_whole else None
        return self._means[chosen, metric]


def _without(chosen: Chosen, place: int) -> Chosen:
    return chosen[:place] + chosen[place + 1 :]
