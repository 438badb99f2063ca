"""Statements about the shape that several arms in order have together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from repro.judge.contrast import Contrast, Statement
from repro.judge.measured import Gain, Measured, above, amount
from repro.judge.verdict import Verdict


class Ladder:
    """Arms in the order of what is varied, such as depth; all of one metric.

    >>> rungs = trials([SHALLOW, MEDIUM, DEEP])
    >>> assert rungs.accuracy.climbs()
    >>> assert rungs.accuracy[2] > rungs.accuracy[0]
    """

    def __init__(self, rungs: Sequence[Measured]) -> None:
        if len(rungs) < 2:
            raise ValueError(f"a ladder needs at least two rungs, and got {len(rungs)}")
        self._rungs = tuple(rungs)

    def __getitem__(self, index: int) -> Measured:
        return self._rungs[index]

    def __len__(self) -> int:
        return len(self._rungs)

    def __iter__(self) -> Iterator[Measured]:
        return iter(self._rungs)

    def climbs(self, *, by_at_least: float | None = None) -> Verdict:
        """Judge whether every rung exceeds the one before, by an amount if given.

        >>> assert trials([SHALLOW, MEDIUM, DEEP]).accuracy.climbs(by_at_least=0.01)
        """
        terms = [above(b, a, by_at_least=by_at_least) for a, b in pairwise(self)]
        return self._decide(f"climbs at every step{amount(by_at_least)}", terms)

    def falls(self, *, by_at_least: float | None = None) -> Verdict:
        """Judge whether every rung falls below the one before, by an amount if given.

        >>> assert trials([SHALLOW, MEDIUM, DEEP]).perplexity.falls()
        """
        terms = [above(a, b, by_at_least=by_at_least) for a, b in pairwise(self)]
        return self._decide(f"falls at every step{amount(by_at_least)}", terms)

    def is_ordered(self) -> Verdict:
        """Judge whether the arms rank as listed, the first largest.

        Reproduced where every adjacent pair is settled as listed (the others follow from them);
        refuted where any pair at all is settled against it.

        >>> assert trials([DEEP, MEDIUM, SHALLOW]).accuracy.is_ordered()
        >>> print(trials([SHALLOW, MEDIUM, DEEP]).accuracy.is_ordered().outcome)
        refuted
        """
        return self._decide(
            "ranks as listed, the first largest",
            [above(a, b) for a, b in pairwise(self)],
            implied=[
                above(self[a], self[b]) for a, b in combinations(range(len(self)), 2) if b > a + 1
            ],
        )

    def peaks_at(self, index: int) -> Verdict:
        """Judge whether this rung, counted from 0, exceeds every other.

        >>> assert trials([SHALLOW, DEEP, MEDIUM]).accuracy.peaks_at(1)
        """
        top = self._rung(index)
        terms = [above(top, rung) for rung in self if rung is not top]
        return self._decide(f"peaks at {top.label}", terms)

    def bottoms_at(self, index: int) -> Verdict:
        """Judge whether this rung, counted from 0, lies below every other.

        >>> assert trials([SHALLOW, DEEP, MEDIUM]).perplexity.bottoms_at(1)
        """
        low = self._rung(index)
        terms = [above(rung, low) for rung in self if rung is not low]
        return self._decide(f"bottoms at {low.label}", terms)

    def dips_at(self, index: int) -> Verdict:
        """Judge whether this rung, counted from 0, lies below both of its neighbours.

        >>> assert trials([DEEP, SHALLOW, MEDIUM]).accuracy.dips_at(1)
        """
        low = self._rung(index)
        place = index % len(self)
        if not 0 < place < len(self) - 1:
            raise ValueError(f"{low.label} is an end of the ladder and has no two neighbours")
        terms = [above(self[place + step], low) for step in (-1, 1)]
        return self._decide(f"dips at {low.label}", terms)

    def diminishes(self, *, falling: bool = False) -> Verdict:
        """Judge whether it climbs at every step, each smaller than the one before.

        Steps count upwards; `falling=True` counts them downwards, for a metric that falls. They are
        compared on the scale of the metric. The last step has to be one up; then so are the others.

        >>> assert trials([SHALLOW, MEDIUM, DEEP]).accuracy.diminishes()
        """
        steps = self._steps(falling)
        if len(steps) < 2:
            raise ValueError("steps can only diminish on a ladder of at least three rungs")
        shrinking = [before.larger_than(after) for before, after in pairwise(steps)]
        terms: list[Contrast] = [*shrinking, above(steps[-1].high, steps[-1].low)]
        return self._decide(
            "climbs by ever smaller steps" if not falling else "falls by ever smaller steps", terms
        )

    def largest_step_is(self, index: int, *, falling: bool = False) -> Verdict:
        """Judge whether the step from rung `index` to the next is one up, and the largest.

        `falling=True` counts steps downwards.

        >>> assert trials([SHALLOW, MEDIUM, DEEP]).accuracy.largest_step_is(0)
        """
        steps = self._steps(falling)
        if not 0 <= index < len(steps) or len(steps) < 2:
            raise ValueError(
                f"step {index} is not one of at least two steps: the ladder has {len(steps)}, "
                "counted from 0"
            )
        largest = steps[index]
        larger = [largest.larger_than(step) for i, step in enumerate(steps) if i != index]
        terms: list[Contrast] = [*larger, above(largest.high, largest.low)]
        way = "down" if falling else "up"
        return self._decide(f"has its largest step {way} at {steps[index].label}", terms)

    def _steps(self, falling: bool) -> list[Gain]:
        return [a - b if falling else b - a for a, b in pairwise(self)]

    def _rung(self, index: int) -> Measured:
        if not -len(self) <= index < len(self):
            raise ValueError(
                f"there is no rung {index}: the ladder has {len(self)}, counted from 0"
            )
        return self._rungs[index]

    def _decide(
        self,
        text: str,
        terms: Sequence[Contrast],
        *,
        implied: Sequence[Contrast] = (),
    ) -> Verdict:
        first = self._rungs[0]
        labels = ", ".join(rung.label for rung in self)
        text = f"{first.metric} over {labels} {text}"
        return first.judge.decide(Statement(text, tuple(terms), tuple(implied)))
