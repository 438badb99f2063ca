"""Random choices by integers alone, the same on every machine: numpy has frozen the stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Draws:
    """A stream of choices.

    >>> Draws(1).below(10) == Draws(1).below(10)
    True
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.RandomState(seed)
        self._left: list[int] = []

    def below(self, count: int) -> int:
        """Draw a number from 0 up to, not including, `count`."""
        if not self._left:
            self._left = self._random.randint(0, 2**31, size=2**16, dtype=np.int64).tolist()
        return self._left.pop() % count

    def chance(self, times: int, of: int) -> bool:
        """Draw True `times` times in `of`, on average."""
        return self.below(of) < times

    def one_of(self, things: Sequence[T]) -> T:
        """Draw one of the things, all alike."""
        return things[self.below(len(things))]

    def by_rank(self, things: Sequence[T]) -> T:
        """Draw one of the things, the n-th of them 1/n times as often as the first (Zipf's law)."""
        weights = list(accumulate(1_000_000 // rank for rank in range(1, len(things) + 1)))
        return things[bisect_right(weights, self.below(weights[-1]))]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Return the things in a random order."""
        left = list(things)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]
