"""Statements about one arm over its training: which epoch is best, what keeps rising or falling.

A statement is about the mean curve over seeds: the named epoch is compared with every other one, or
every step with none, and the weakest of these comparisons decides. All of them must hold; any can
refute it, so these share the level.

Runs that stop early have curves of different lengths. A run that has ended keeps the value that it
ended with, at all later epochs, since that is what stopping it left: a run that stopped before the
epoch that a claim calls the best is evidence against it. Steps are judged as far as all runs go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from repro.judge.contrast import Contrast, Statement
from repro.judge.judge import Judge
from repro.judge.measured import Measured
from repro.judge.scale import Array, Scale
from repro.judge.verdict import Verdict

Pairs: TypeAlias = tuple[Array, Array]
"""The values to be compared, [runs, pairs] each."""

LAST = -1
"""The number for the last epoch of each run, wherever it stopped."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A metric of one arm, epoch by epoch, over seeds.

    `values(n)` returns one array for each of the first `n` seeds: the metric at each of `epochs`
    in turn, as far as the run went. Epochs count from 1, and -1 is the last epoch of each run.

    >>> perplexity = trials(DEEP).over_epochs.perplexity
    >>> assert perplexity.bottoms_at(2)
    >>> assert perplexity[3] > perplexity[2]
    """

    judge: Judge
    label: str
    metric: str
    epochs: Sequence[int]
    values: Callable[[int], Sequence[Array]]
    scale: Scale = Scale("identity")  # noqa: RUF009 - frozen
    pairing: object = None
    """The runs that the curves are of, as that of `Measured`."""
    repeats: Callable[[int], bool] | None = None
    """Tells whether the first `n` runs are one run, as that of `Measured`."""

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

        counted = Scale("identity", count=1)  # in whole epochs, which runs may share by that
        return replace(self._measured("in epochs", last_epoch), metric="epochs", scale=counted)

    @property
    def largest_rise(self) -> Measured:
        """The largest rise of each run from one epoch to the next, to compare.

        It is below zero where the run fell at every step, and larger in longer runs by chance
        alone. Values are compared as they are, not on the metric's scale.

        >>> deep, shallow = trials(DEEP, SHALLOW)
        >>> rises = deep.over_epochs.perplexity.largest_rise
        >>> assert rises > 1
        >>> assert rises > shallow.over_epochs.perplexity.largest_rise
        """

        def rise(run: Array) -> float:
            return float(np.diff(run).max()) if len(run) > 1 else np.nan

        plain = Scale("identity")
        return replace(self._measured("at its largest rise", rise), scale=plain)

    def bottoms_at(self, epoch: int) -> Verdict:
        """Judge whether this is lowest at an epoch.

        Epoch -1 is the last one of each run: it still falls at the end.

        >>> assert trials(DEEP).over_epochs.perplexity.bottoms_at(2)
        >>> assert trials(SHALLOW).over_epochs.perplexity.bottoms_at(-1)
        """
        return self._best(epoch, "bottoms", -1)

    def peaks_at(self, epoch: int) -> Verdict:
        """Judge whether this is highest at an epoch.

        Epoch -1 is the last one of each run: it still climbs at the end.

        >>> assert trials(DEEP).over_epochs.perplexity.peaks_at(1)
        """
        return self._best(epoch, "peaks", 1)

    def falls(self, *, after: int = 1) -> Verdict:
        """Judge whether this falls from each epoch to the next, after one of them.

        >>> assert trials(DEEP).over_epochs.loss.falls()
        """
        return self._decide(f"keeps falling after epoch {after}", self._steps(after, -1))

    def climbs(self, *, after: int = 1) -> Verdict:
        """Judge whether this climbs from each epoch to the next, after one of them.

        >>> assert trials(DEEP).over_epochs.perplexity.climbs(after=2)
        """
        return self._decide(f"keeps climbing after epoch {after}", self._steps(after, 1))

    def falls_while(self, other: Curve, *, after: int = 1) -> Verdict:
        """Judge whether this keeps falling after an epoch while another curve keeps climbing.

        The other may be of another metric.

        >>> over_epochs = trials(DEEP).over_epochs
        >>> assert over_epochs.loss.falls_while(over_epochs.perplexity, after=2)
        """
        text = f"keeps falling while {other.metric} of {other.label} keeps climbing"
        terms = self._steps(after, -1), other._steps(after, 1)
        return self._decide(f"{text}, after epoch {after}", *terms)

    def _best(self, epoch: int, word: str, sign: int) -> Verdict:
        """Judge whether the named epoch is above every other one, or below with a `sign` of -1."""
        place, at = self._place(epoch), f"at {_name(epoch)}"
        others = partial(_others, place=place)
        term = self._weakest(others, sign, at, "at the epoch that comes closest")
        return self._decide(f"{word} {at}", term)

    def _steps(self, after: int, sign: int) -> Contrast:
        """The term that every step after an epoch goes up, or down with a `sign` of -1."""
        steps = partial(_steps, start=self._place(after))
        return self._weakest(steps, sign, "after its weakest step", "before it")

    def _weakest(
        self, pairs: Callable[[Sequence[Array]], Pairs], sign: int, named: str, rival: str
    ) -> Contrast:
        """The term that of all pairs of epochs the first is above the second, or below it."""

        def weakest(seeds: int, side: int) -> Array:
            runs = self.values(seeds)
            both = pairs(runs)
            if not both[0].shape[1]:
                return np.array([_missing(run) for run in runs])
            first, second = (self.scale.of(each, self.label) for each in both)
            place = _weakest_of(sign * (first - second))
            return np.asarray(np.take_along_axis(both[side], place, axis=1)[:, 0])

        first, second = (
            replace(self._measured(name, _missing), values=partial(weakest, side=side))
            for side, name in enumerate((named, rival))
        )
        sides = (first, second) if sign > 0 else (second, first)
        among = lambda seeds: max(1, pairs(self.values(seeds))[0].shape[1])  # noqa: E731
        return Contrast(sides, among=among)

    def _measured(self, where: str, read: Callable[[Array], Any]) -> Measured:
        """One number for each run, read from its curve, to compare like any other."""
        return Measured(
            judge=self.judge,
            label=f"{self.label} {where}",
            metric=self.metric,
            values=lambda seeds: np.array([read(run) for run in self.values(seeds)]),
            scale=self.scale,
            pairing=self.pairing,
            repeats=self.repeats,
        )

    def _place(self, epoch: int) -> int:
        """The index of an epoch in the values of a run."""
        if epoch == LAST:
            return LAST
        if epoch not in self.epochs:
            raise ValueError(
                f"{self.metric} of {self.label} is not measured at epoch {epoch}: epochs count "
                f"from 1, it is measured at {_listed(self.epochs)}, and -1 is the last of each run"
            )
        return list(self.epochs).index(epoch)

    def _decide(self, text: str, *terms: Contrast) -> Verdict:
        return self.judge.decide(Statement(f"{self.metric} of {self.label} {text}", terms))


def _missing(run: Array) -> Any:
    """The value of a run that has none: not a number."""
    return np.full(run.shape[1:], np.nan)[()]


def _name(epoch: int) -> str:
    return "the last epoch" if epoch == LAST else f"epoch {epoch}"


def _listed(epochs: Sequence[int]) -> str:
    shown = ", ".join(map(str, epochs[:4]))
    return shown if len(epochs) <= 4 else f"{shown}, …, {epochs[-1]}"


def _others(runs: Sequence[Array], place: int) -> Pairs:
    """The value at one place and at each of the others; a run that has ended keeps its last value.

    The last epoch of each run is compared with those that come as long before it in all of them.
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
    """The values after and before each step that all runs have, from a place on."""
    length = min(len(run) for run in runs)
    curves = np.stack([run[:length][start:] for run in runs])
    return curves[:, 1:], curves[:, :-1]


def _weakest_of(differences: Array) -> Any:
    """The place of the pair with the smallest t statistic, [1, 1] or one for each sample."""
    mean, spread = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    certain = np.where(mean == 0, 0.0, np.copysign(np.inf, mean))
    t = np.where(spread > 0, mean / np.where(spread > 0, spread, 1.0), certain)
    return np.asarray(t.argmin(axis=0))[None, None]
