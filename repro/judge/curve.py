"""Statements about one arm over its training: which epoch is best, what keeps rising or falling.

Runs that stop early have curves of different lengths. Every run is read over the epochs that it
has: its own best epoch, its own weakest step. So each run gives one number, whatever its length,
and a statement about a curve is one paired difference. The reading is strict: one epoch in the
wrong place counts as much as the distance by which it is wrong. A run that stopped before an epoch
that the claim names has no value there, and the statement stays inconclusive and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from repro.judge.judge import Judge
from repro.judge.measured import Measured, above
from repro.judge.paired import Comparison
from repro.judge.scale import Array, Scale
from repro.judge.terms import Statement
from repro.judge.verdict import Verdict

LAST = -1
"""The number for the last epoch of each run, wherever it stopped."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A metric of one arm, epoch by epoch, over seeds.

    `values(n)` returns one array for each of the first `n` seeds: the metric at each of `epochs`
    in turn, as far as the run went. Epochs count from 1, and -1 is the last epoch of each run.

    >>> runs = [[22.4, 25.1], [23.0, 24.8, 26.0], [22.1, 23.9]]  # stopped early
    >>> validation = Curve(
    ...     judge=Judge(Design(looks=(3,), level=0.05)), label="decreasing", metric="perplexity",
    ...     epochs=range(1, 51), values=lambda n: [np.array(run) for run in runs[:n]],
    ... )
    >>> print(validation.bottoms_at(1).outcome, validation.bottoms_at(-1).outcome)
    reproduced refuted
    """

    judge: Judge
    label: str
    metric: str
    epochs: Sequence[int]
    values: Callable[[int], Sequence[Array]]
    scale: Scale = Scale("identity")  # noqa: RUF009 - frozen

    def __getitem__(self, epoch: int) -> Measured:
        """The metric at one epoch, to compare like any other."""
        place = self._place(epoch)
        return self._measured(
            f"at {_name(epoch)}", lambda run: run[place] if place < len(run) else _missing(run)
        )

    def bottoms_at(self, epoch: int) -> Verdict:
        """Judge whether runs are lowest at this epoch, below their lowest other one.

        Epoch -1 says that they still fall at the end.
        """
        others = self._others(epoch, "lowest", lambda values: values.min(axis=0))
        return self._decide(f"bottoms at {_name(epoch)}", above(others, self[epoch]))

    def peaks_at(self, epoch: int) -> Verdict:
        """Judge whether runs are highest at this epoch, above their highest other one.

        Epoch -1 says that they still climb at the end.
        """
        others = self._others(epoch, "highest", lambda values: values.max(axis=0))
        return self._decide(f"peaks at {_name(epoch)}", above(self[epoch], others))

    def falls(self, *, after: int = 1) -> Verdict:
        """Judge whether runs keep falling after an epoch, even at the weakest step of each."""
        return self._decide(f"keeps falling after epoch {after}", self._weakest_step(after, -1))

    def climbs(self, *, after: int = 1) -> Verdict:
        """Judge whether runs keep climbing after an epoch, even at the weakest step of each."""
        return self._decide(f"keeps climbing after epoch {after}", self._weakest_step(after, 1))

    def falls_while(self, other: Curve, *, after: int = 1) -> Verdict:
        """Judge whether this keeps falling after an epoch while another curve keeps climbing.

        The other may be of another metric.
        """
        text = f"keeps falling while {other.metric} of {other.label} keeps climbing"
        terms = self._weakest_step(after, -1), other._weakest_step(after, 1)
        return self._decide(f"{text}, after epoch {after}", *terms)

    def _weakest_step(self, after: int, sign: int) -> Comparison:
        """The term that the weakest step of each run after an epoch goes up, or down."""
        start = self._place(after)

        def end_of_step(run: Array, end: int) -> Any:
            steps = sign * np.diff(self.scale.of(run[start:], self.label), axis=0)
            if not len(steps):
                return _missing(run)
            weakest = np.asarray(steps.argmin(axis=0))[None]
            return np.take_along_axis(run[start:], weakest + end, axis=0)[0]

        way = "rise" if sign > 0 else "fall"
        before = self._measured(f"before its weakest {way}", lambda run: end_of_step(run, 0))
        behind = self._measured(f"after its weakest {way}", lambda run: end_of_step(run, 1))
        return above(behind, before) if sign > 0 else above(before, behind)

    def _others(self, epoch: int, which: str, best: Callable[[Array], Any]) -> Measured:
        """The best value of each run at all epochs but one."""
        place = self._place(epoch)

        def best_other(run: Array) -> Any:
            others = np.delete(run, place, axis=0) if place < len(run) > 1 else run[:0]
            return best(others) if len(others) else _missing(run)

        return self._measured(f"at its {which} other epoch", best_other)

    def _measured(self, where: str, read: Callable[[Array], Any]) -> Measured:
        """One number for each run, read from its curve, to compare like any other."""
        return Measured(
            judge=self.judge,
            label=f"{self.label} {where}",
            metric=self.metric,
            values=lambda seeds: np.array([read(run) for run in self.values(seeds)]),
            scale=self.scale,
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

    def _decide(self, text: str, *terms: Comparison) -> Verdict:
        return self.judge.decide(Statement(f"{self.metric} of {self.label} {text}", terms))


def _missing(run: Array) -> Any:
    """The value of a run that has none: not a number."""
    return np.full(run.shape[1:], np.nan)[()]


def _name(epoch: int) -> str:
    return "the last epoch" if epoch == LAST else f"epoch {epoch}"


def _listed(epochs: Sequence[int]) -> str:
    shown = ", ".join(map(str, epochs[:4]))
    return shown if len(epochs) <= 4 else f"{shown}, …, {epochs[-1]}"
