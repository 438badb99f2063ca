"""Which runs an audit trains again, and what a clean sample of them says about the rest.

Runs are drawn one by one without replacement, each with a chance that its cost decides. Where the
time allows for it all chances are equal. Otherwise costly runs have less, and never none.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95

HALVINGS = 60
"""Steps of the search for the cost above which chances fall."""


@dataclass(frozen=True)
class Sampling:
    """The chance of each run to be the next that is drawn, as a share of all of them."""

    chances: Sequence[float]

    @classmethod
    def within(cls, costs: Sequence[float], *, draws: int, seconds: float) -> Sampling:
        """Return chances by which so many draws are expected to take so many seconds.

        They are equal up to a cost, and fall as its inverse from there on.

        >>> Sampling.within([1.0, 1.0, 1.0], draws=2, seconds=10).is_even
        True
        """
        low, high = min(costs), max(costs)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if draws * _mean_cost(costs, _chances(costs, middle)) > seconds:
                high = middle
            else:
                low = middle
        fits = draws * sum(costs) / len(costs) <= seconds
        return cls(_chances(costs, max(costs) if fits else low))

    @property
    def is_even(self) -> bool:
        """True where each run has the same chance."""
        return max(self.chances) == min(self.chances)

    def order(self, seed: int) -> Iterator[int]:
        """Yield the places of the runs in the order in which a seed draws them."""
        draw = random.Random(seed)
        left = dict(enumerate(self.chances))
        while left:
            (place,) = draw.choices(list(left), list(left.values()))
            del left[place]
            yield place

    def finds(self, wrong: int, draws: int) -> float:
        """Return the least chance that draws hit one of so many wrong runs, whichever these are.

        With equal chances it is exact; else it is that for the runs with the least chances, drawn
        with replacement, which hits them more rarely.

        >>> round(Sampling([0.001] * 1000).finds(100, draws=29), 2)
        0.95
        """
        total = len(self.chances)
        if draws + wrong > total:
            return 1.0
        if self.is_even:
            return 1 - math.prod((total - wrong - n) / (total - n) for n in range(draws))
        return 1 - (1 - math.fsum(sorted(self.chances)[:wrong])) ** draws

    def fewest_found(self, draws: int, confidence: float = CONFIDENCE) -> int | None:
        """Return the smallest number of wrong runs that draws hit with a confidence.

        So after as many clean draws fewer are wrong. None where no number is hit so surely.

        >>> Sampling([0.001] * 1000).fewest_found(29)
        98
        """
        low, high = 0, len(self.chances) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.finds(middle, draws) >= confidence else (middle, high)
        return high if high <= len(self.chances) else None


def _chances(costs: Sequence[float], threshold: float) -> list[float]:
    weights = [min(1.0, threshold / cost) if cost > 0 else 1.0 for cost in costs]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _mean_cost(costs: Sequence[float], chances: Sequence[float]) -> float:
    return math.fsum(cost * chance for cost, chance in zip(costs, chances, strict=True))
