"""Claims about the shape of a ladder of arms, or of one arm's curve over its training.

A claim about a curve is about the mean curve over seeds. It compares the named epoch with every
other epoch, or every step with 0, and the weakest of these comparisons decides. All of them must
hold. Any of them can refute the claim, so they share the level.

Runs that stop early have curves of different lengths. A run that has ended keeps its last value at
all later epochs, because training left the model there. So a run that stopped before the claimed
best epoch is evidence against the claim. Steps are judged as far as all runs go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np

from repro.judge.contrast import Contrast, Statement
from repro.judge.measured import Measured, above, amount
from repro.judge.mistakes import is_count
from repro.judge.scale import Array, Scale
from repro.judge.verdict import Verdict


class Ladder:
    """One metric of several arms, in the order of what is varied, such as depth.

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

    def documented_as(
        self, numbers: Sequence[float], *, runs: int = 1, paired: bool = True
    ) -> Ladder:
        """Return the ladder with what the source prints of each rung, as `Measured` has it.

        >>> rungs = trials([SHALLOW, MEDIUM, DEEP]).accuracy.documented_as([0.70, 0.78, 0.82])
        >>> print(rungs.climbs().effect_size)
        size open
        """
        both = zip(self, numbers, strict=True)
        return Ladder([rung.documented_as(x, runs=runs, paired=paired) for rung, x in both])

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

        Reproduced if every adjacent pair is as listed (the other pairs follow from these); refuted
        if any pair at all is in the opposite order.

        >>> assert trials([DEEP, MEDIUM, SHALLOW]).accuracy.is_ordered()
        >>> print(trials([SHALLOW, MEDIUM, DEEP]).accuracy.is_ordered().outcome)
        refuted
        """
        apart = [(a, b) for a, b in combinations(range(len(self)), 2) if b > a + 1]
        terms = [above(a, b) for a, b in pairwise(self)]
        implied = [above(self[a], self[b]) for a, b in apart]
        return self._decide("ranks as listed, the first largest", terms, implied)

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

    def _rung(self, index: int) -> Measured:
        if not -len(self) <= index < len(self):
            raise ValueError(
                f"there is no rung {index}: the ladder has {len(self)}, counted from 0"
            )
        return self._rungs[index]

    def _decide(
        self, text: str, terms: Sequence[Contrast], implied: Sequence[Contrast] = ()
    ) -> Verdict:
        labels = ", ".join(rung.label for rung in self)
        text = f"{self[0].metric} over {labels} {text}"
        return self[0].judge.decide(Statement(text, tuple(terms), tuple(implied)))


Pairs: TypeAlias = tuple[Array, Array]
"""The first and the second values of the pairs that are compared, [runs, pairs] each."""

LAST = -1
"""Stands for the last epoch of each run."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A metric of one arm, epoch by epoch, over seeds.

    `values(n)` returns one array for each of the first `n` seeds: the metric at each of `epochs`
    in turn, as far as the run went. Epochs count from 1, and -1 is the last epoch of each run.

    >>> perplexity = trials(DEEP).over_epochs.perplexity
    >>> assert perplexity.bottoms_at(2)
    >>> assert perplexity[3] > perplexity[2]
    """

    of: Measured
    """The metric and its arm; its values may be those at any epoch."""
    epochs: Sequence[int]
    values: Callable[[int], Sequence[Array]]

    def __getitem__(self, epoch: int) -> Measured:
        """The metric at one epoch, to compare like any other."""
        place = self._place(epoch)
        return self._measured(f"at {_name(epoch)}", lambda run: run[min(place, len(run) - 1)])

    @property
    def length(self) -> Measured:
        """The number of epochs that each run went, to compare like any other.

        >>> assert trials(DEEP).over_epochs.perplexity.length > 2
        """

        def last_epoch(run: Array) -> float:
            return float(self.epochs[len(run) - 1]) if np.isfinite(run[-1]) else np.nan

        counted = Scale("identity", count=1)  # in whole epochs, so equal lengths may be by chance
        return self._measured("in epochs", last_epoch, metric="epochs", scale=counted)

    def max(self) -> Measured:
        """The highest value of each run, to compare like any other.

        >>> assert trials(DEEP).over_epochs.accuracy.max() > 0.75
        """
        return self._measured("at its highest", lambda run: run.max(axis=0))

    def min(self) -> Measured:
        """The lowest value of each run, to compare like any other.

        >>> assert trials(DEEP).over_epochs.perplexity.min() < 30
        """
        return self._measured("at its lowest", lambda run: run.min(axis=0))

    def mean(self) -> Measured:
        """The mean of each run over its epochs, to compare like any other.

        >>> assert trials(DEEP).over_epochs.accuracy.mean() > 0.5
        """
        return self._measured("in the mean of its epochs", lambda run: run.mean(axis=0))

    def last(self, epochs: int) -> Measured:
        """The mean of each run over its last epochs, to compare like any other.

        >>> assert trials(DEEP).over_epochs.accuracy.last(2) > 0.5
        """
        if not is_count(epochs, least=1):
            raise ValueError(f"last({epochs!r}) takes a number of epochs: give 1 or more")
        where = f"in the mean of its last {epochs} epochs"
        return self._measured(where, lambda run: run[-epochs:].mean(axis=0))

    @property
    def largest_rise(self) -> Measured:
        """The largest rise of each run from one epoch to the next, to compare.

        It is negative if the run fell at every step. In longer runs it is larger by chance alone.
        Values are compared directly, not on the metric's scale.

        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> rises = deep.over_epochs.perplexity.largest_rise
        >>> assert rises > 1
        >>> assert rises > shallow.over_epochs.perplexity.largest_rise
        """

        def rise(run: Array) -> float:
            return float(np.diff(run).max()) if len(run) > 1 else np.nan

        return self._measured("at its largest rise", rise, scale=Scale("identity"))

    def largest_change(self, *, after: int) -> Measured:
        """The largest distance of each run from its last value, from an epoch on, to compare.

        If it lies below a margin, the run had converged by that epoch. Values are compared
        directly, not on the metric's scale.

        >>> assert trials(DEEP).over_epochs.loss.largest_change(after=2) < 1.0
        """
        start = self._place(after)

        def change(run: Array) -> float:
            return float(np.abs(run[start:] - run[-1]).max()) if len(run) > start else np.nan

        return self._measured(f"from epoch {after} on", change, scale=Scale("identity"))

    def bottoms_at(self, epoch: int) -> Verdict:
        """Judge whether this is lowest at an epoch.

        Epoch -1 is the last of each run: then the curve still falls at the end.

        >>> assert trials(DEEP).over_epochs.perplexity.bottoms_at(2)
        >>> assert trials(SHALLOW).over_epochs.perplexity.bottoms_at(-1)
        """
        return self._best(epoch, "bottoms", -1)

    def peaks_at(self, epoch: int) -> Verdict:
        """Judge whether this is highest at an epoch.

        Epoch -1 is the last of each run: then the curve still climbs at the end.

        >>> assert trials(DEEP).over_epochs.perplexity.peaks_at(1)
        """
        return self._best(epoch, "peaks", 1)

    def falls(self, *, after: int | None = None) -> Verdict:
        """Judge whether this falls from each epoch to the next, from the first or `after` one.

        >>> assert trials(DEEP).over_epochs.loss.falls()
        """
        first = self._first(after)
        return self._decide(f"keeps falling after epoch {first}", self._steps(first, -1))

    def climbs(self, *, after: int | None = None) -> Verdict:
        """Judge whether this climbs from each epoch to the next, from the first or `after` one.

        >>> assert trials(DEEP).over_epochs.perplexity.climbs(after=2)
        """
        first = self._first(after)
        return self._decide(f"keeps climbing after epoch {first}", self._steps(first, 1))

    def _best(self, epoch: int, word: str, sign: int) -> Verdict:
        """Judge whether the epoch lies above every other epoch; with a `sign` of -1, below."""
        place, at = self._place(epoch), f"at {_name(epoch)}"
        others = partial(_others, place=place)
        term = self._weakest(others, sign, at, "at the epoch that comes closest")
        return self._decide(f"{word} {at}", term)

    def _first(self, after: int | None) -> int:
        return self.epochs[0] if after is None else after

    def _steps(self, after: int, sign: int) -> Contrast:
        """The term that every step after an epoch goes up; with a `sign` of -1, down."""
        steps = partial(_steps, start=self._place(after))
        return self._weakest(steps, sign, "after its weakest step", "before it")

    def _weakest(
        self, pairs: Callable[[Sequence[Array]], Pairs], sign: int, named: str, rival: str
    ) -> Contrast:
        """The term that in every pair of epochs the first is above the second, or below it."""

        def weakest(seeds: int, side: int) -> Array:
            runs = self.values(seeds)
            both = pairs(runs)
            if not both[0].shape[1]:
                return np.array([_missing(run) for run in runs])
            first, second = (self.of.scale.of(each, self.of.label) for each in both)
            place = _weakest_of(sign * (first - second))
            return np.asarray(np.take_along_axis(both[side], place, axis=1)[:, 0])

        first, second = (
            replace(self._measured(name, _missing), values=partial(weakest, side=side))
            for side, name in enumerate((named, rival))
        )
        sides = (first, second) if sign > 0 else (second, first)
        among = lambda seeds: max(1, pairs(self.values(seeds))[0].shape[1])  # noqa: E731
        return Contrast(sides, among=among)

    def _measured(self, where: str, read: Callable[[Array], Any], **otherwise: Any) -> Measured:
        """One number for each run, read from its curve, as a metric; some parts are `otherwise`."""
        return replace(
            self.of,
            label=f"{self.of.label} {where}",
            values=lambda seeds: np.array([read(run) for run in self.values(seeds)]),
            **otherwise,
        )

    def _place(self, epoch: int) -> int:
        """The index of an epoch in the values of a run."""
        if epoch == LAST:
            return LAST
        if epoch not in self.epochs:
            raise ValueError(
                f"{self.of.metric} of {self.of.label} is not measured at epoch {epoch}: epochs"
                f" count from 1, it is measured at {_listed(self.epochs)}, and -1 is the last of"
                " each run"
            )
        return list(self.epochs).index(epoch)

    def _decide(self, text: str, *terms: Contrast) -> Verdict:
        return self.of.judge.decide(Statement(f"{self.of.metric} of {self.of.label} {text}", terms))


def _missing(run: Array) -> Any:
    """The missing value of a run: not a number."""
    return np.full(run.shape[1:], np.nan)[()]


def _name(epoch: int) -> str:
    return "the last epoch" if epoch == LAST else f"epoch {epoch}"


def _listed(epochs: Sequence[int]) -> str:
    shown = ", ".join(map(str, epochs[:4]))
    return shown if len(epochs) <= 4 else f"{shown}, …, {epochs[-1]}"


def _others(runs: Sequence[Array], place: int) -> Pairs:
    """The value at one epoch and at each other epoch; a run that has ended keeps its last value.

    For the last epoch of each run, the curves are aligned at their ends.
    """
    if place == LAST:
        length = min(len(run) for run in runs)
        curves = np.stack([run[len(run) - length :] for run in runs])
    else:
        length = max(place + 1, *(len(run) for run in runs))
        kept = [np.minimum(np.arange(length), len(run) - 1) for run in runs]
        curves = np.stack([run[places] for run, places in zip(runs, kept, strict=True)])
    others = np.delete(curves, place, axis=1)
    return np.broadcast_to(curves[:, place][:, None], others.shape), others


def _steps(runs: Sequence[Array], start: int) -> Pairs:
    """The values after and before each step, from `start` on, as far as all runs go."""
    length = min(len(run) for run in runs)
    curves = np.stack([run[:length][start:] for run in runs])
    return curves[:, 1:], curves[:, :-1]


def _weakest_of(differences: Array) -> Any:
    """The index of the pair with the smallest t statistic, [1, 1], or one for each sample."""
    mean, spread = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    certain = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    t = np.where(spread > 0, mean / np.where(spread > 0, spread, 1.0), certain)
    return np.asarray(t.argmin(axis=0))[None, None]
