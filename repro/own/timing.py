"""Wall times as a study: pieces of work are timed next to each other, in turn and back again."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from repro.own.outside import OutsideStudy
from repro.own.training_run import TrainingRun

Clock = Callable[[], float]


class TimingStudy(OutsideStudy):
    """A study of how long pieces of work take, one beside the other.

    `pieces` returns for an arm and a seed the pieces as functions without arguments. They are done
    in the order A B B A A B B A …, so that a machine that becomes busier does so for all of them.
    The first rounds warm up and do not count; of the others each piece's median is measured, in
    seconds, as one value of a listed metric. Short pieces (milliseconds) are interrupted less often
    by others on the same machine than long ones. A GPU is waited for within the piece.

    >>> STUDY = TimingStudy(lambda arm, seed: [lambda: ours(arm.size), lambda: theirs(arm.size)])
    >>> def test_at_most_a_fifth_slower(trials):
    ...     seconds = trials(Sorting()).seconds
    ...     assert seconds[0].is_at_most_times(1.2, of=seconds[1])
    """

    def __init__(
        self,
        pieces: Callable[[Any, int], Sequence[Callable[[], object]]],
        *,
        metric: str = "seconds",
        rounds: int = 20,
        warmup: int = 2,
        clock: Clock = time.perf_counter,
    ) -> None:
        if rounds < 2 or rounds % 2 or warmup < 0:
            raise ValueError(
                f"A TimingStudy has rounds={rounds} and warmup={warmup}; give an even number of"
                " rounds, so that every piece comes first as often as last, and no warmup below 0."
            )
        self.pieces, self.metric, self.clock = pieces, metric, clock
        self.rounds, self.warmup = rounds, warmup
        super().__init__(self._train)

    def _train(self, arm: Any, seed: int, run: TrainingRun) -> dict[str, list[float]]:
        pieces = list(self.pieces(arm, seed))
        taken: list[list[float]] = [[] for _ in pieces]
        was_on = gc.isenabled()
        gc.disable()  # as `timeit` does
        try:
            for number in range(self.warmup + self.rounds):
                places = range(len(pieces)) if number % 2 == 0 else range(len(pieces))[::-1]
                for place in places:
                    began = self.clock()
                    pieces[place]()
                    taken[place].append(self.clock() - began)
        finally:
            if was_on:
                gc.enable()
        taken = [each[self.warmup :] for each in taken]
        medians = [statistics.median(each) for each in taken]
        for place, (median, each) in enumerate(zip(medians, taken, strict=True)):
            run.log(f"piece {place}: median {median:.6g} s, {min(each):.6g} to {max(each):.6g}")
            if median <= 0:
                raise ValueError(
                    f"piece {place} took no time that the clock can tell; let it do its work often"
                    " enough to take a millisecond."
                )
        return {self.metric: medians}
