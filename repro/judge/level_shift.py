"""Compares the mean of each arm with the ledger, to find a change that moves arms alike.

Claims compare arms with each other. So no claim notices if every arm becomes better or worse, for
instance by a forgotten `model.eval()`. A ledger keeps the mean of each arm, and a session compares
its own runs with these means: one test for each metric, over all its arms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr  # type: ignore[import-untyped]

FALSE_ALARMS = 0.005
"""The chance of a false warning in a session whose runs are all new."""

DISTINCT = 0.05
"""An arm of a metric that moved is named among those that moved with it below this p of its own."""

_NAMED = 3

ROUNDING = 1e-4
"""The least relative error of an arm's mean: machines round differently."""


class Level(NamedTuple):
    """The mean, standard deviation and number of seeds of one metric of an arm."""

    arm: str
    metric: str
    mean: float
    sd: float
    seeds: int


@dataclass(frozen=True)
class Shift:
    """A metric whose values moved, by more than the choice of seeds explains."""

    metric: str
    moved: Sequence[str]
    """The arms that moved, and all in the same direction."""
    arms: int
    """The number of all arms of the metric."""
    before: float
    """The mean over the arms that moved."""
    now: float
    p: float
    """The p of the mean shift over all arms."""

    def __str__(self) -> str:
        arms = f"all {self.arms} arms" if self.arms > 1 else "its arm"
        if len(self.moved) < self.arms:
            named, others = ", ".join(self.moved[:_NAMED]), len(self.moved) - _NAMED
            named += f" and {others} more" if others > 0 else ""
            arms = f"{len(self.moved)} of {self.arms} arms ({named})"
        return f"{self.metric} of {arms}: {self.before:.4g} → {self.now:.4g} (p {self.p:.2g})"


def shifts(pairs: Iterable[tuple[Level, Level]], *, level: float = FALSE_ALARMS) -> list[Shift]:
    """Return the metrics that moved by more than the choice of seeds explains.

    Each pair is an arm's level in the ledger and today. Arms of one metric share their seeds, so
    their errors may all have the same sign. The test assumes the worst, that they do: it compares
    the mean of the shifts with the mean of the standard errors. The metrics share `level`.

    >>> before, now = Level("deep", "loss", 2.93, 0.01, 5), Level("deep", "loss", 2.80, 0.01, 5)
    >>> print(*shifts([(before, now)]))
    loss of its arm: 2.93 → 2.8 (p ...e-08)
    """
    by_metric: dict[str, list[tuple[Level, Level]]] = {}
    for before, now in pairs:
        by_metric.setdefault(now.metric, []).append((before, now))
    tested = [_shift(metric, of_it) for metric, of_it in by_metric.items()]
    return [each for each in tested if each.p * len(tested) < level]


def _shift(metric: str, pairs: list[tuple[Level, Level]]) -> Shift:
    before, now = (np.array([each.mean for each in side]) for side in zip(*pairs, strict=True))
    df = np.array([[each.seeds - 1 for each in pair] for pair in pairs])  # [arms, 2]
    squares = np.array([[each.sd**2 for each in pair] for pair in pairs]) * df
    shares = (1 / (df + 1)).sum(axis=1)
    # an unchanged arm has the same spread before and now, so the two are pooled
    errors = np.sqrt(squares.sum(axis=1) / df.sum(axis=1) * shares)
    errors = np.maximum(errors, ROUNDING * np.abs(before))
    errors = np.maximum(errors, np.finfo(float).tiny)
    shift = (now - before) * np.sign((now - before).sum())
    p = float(2 * stdtr(df.sum(axis=1).min(), -shift.sum() / errors.sum()))
    own = 2 * stdtr(df.sum(axis=1), -shift / errors)
    moved = own <= max(DISTINCT, own.min())
    return Shift(
        metric,
        [arm.arm for (arm, _), has_moved in zip(pairs, moved, strict=True) if has_moved],
        len(pairs),
        float(before[moved].mean()),
        float(now[moved].mean()),
        p,
    )
