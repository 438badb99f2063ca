"""One arm of a claim with its metrics as attributes, and several arms as a ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Metric, Values
from repro.judge import Curve, Judge, Ladder, Measured, Scale

T = TypeVar("T")

TRAINING = {"loss": Metric("identity")}
"""The metrics that the core records after every epoch, for every study."""


class TrialsOfClaim(Protocol):
    """The part of `Trials` that its arms use."""

    judge: Judge
    metrics: list[str]
    diverged: list[str]

    def values(self, arm: Arm, count: int) -> list[Values]:
        """Return the values of an arm's first seeds."""
        ...

    def note_metric(self, arm: Arm, *, exact: bool) -> None:
        """Note that a metric of an arm is asked for."""
        ...


class Trial:
    """One arm; its metrics are attributes, with an index for a list metric: `trial.alignment[0]`.

    A metric has the value at the end of a run; `trial.over_epochs.accuracy` has the value after
    each epoch. Other names go into brackets, in both places: `trial["val/acc"]`.

    >>> deep = trials(DEEP)
    >>> assert deep.accuracy > 0.8
    """

    def __init__(self, arm: Arm, trials: TrialsOfClaim) -> None:
        self.arm, self.trials = arm, trials

    def __getattr__(self, name: str) -> Any:
        metric = _metric(name, self.arm, {})
        self.trials.metrics.append(name)
        if metric.listed:
            return Each(lambda index: self.measured(name, metric, index))
        return self.measured(name, metric)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def _no_metric(self, other: object) -> NoReturn:
        first = next(iter(type(self.arm).metrics), "accuracy")
        raise TypeError(
            f"{self.arm.label} is an arm, and claims compare metrics: write a.{first} > b.{first}."
        )

    __gt__ = __lt__ = __ge__ = __le__ = __sub__ = _no_metric

    @property
    def over_epochs(self) -> OverEpochs:
        """The same metrics as curves over training.

        >>> assert trials(DEEP).over_epochs.perplexity.bottoms_at(2)
        """
        return OverEpochs(self)

    def measured(self, name: str, metric: Metric, index: int | None = None) -> Measured:
        """Return a metric over seeds, or one element of a list metric."""
        trials, is_exact = self.trials, self.arm.is_exact(name, index)
        trials.note_metric(self.arm, exact=is_exact)

        def values(count: int) -> NDArray[np.float64]:
            runs = trials.values(self.arm, 1 if is_exact else count)
            return _for_each_seed([self._value(run, name, index) for run in runs], count)

        return Measured(
            judge=trials.judge,
            label=self.label(index),
            metric=name.replace("_", " "),
            values=values,
            scale=Scale(metric.scale, count=metric.examples),
            by_example=self._by_example(metric.sampled, is_exact) if metric.sampled else None,
            is_exact=is_exact,
            pairing=self.arm.pairing,
            repeats=self.repeats,
            origin=(self.arm, name, index),
        )

    def repeats(self, count: int) -> bool:
        """Return whether the first runs are the same run: equal in all recorded values.

        This happens if the training does not use its seed, or if a file lists one run under several
        seeds.
        """
        first, *others = self.trials.values(self.arm, count)
        return bool(others) and all(run == first for run in others)

    def _by_example(self, name: str, is_exact: bool) -> Callable[[int], NDArray[np.float64]]:
        def values(count: int) -> NDArray[np.float64]:  # [seeds, examples]
            runs = self.trials.values(self.arm, 1 if is_exact else count)
            return _for_each_seed([v["measures"][name] for v in runs if "measures" in v], count)

        return values

    def label(self, index: int | None) -> str:
        """The label of the arm, with the index of a list metric."""
        return self.arm.label if index is None else f"{self.arm.label} [{index}]"

    def diverged(self, values: Values) -> bool:
        """Return whether a run diverged, and remark on it; such a run has no values."""
        if "diverged_at" in values:
            self.trials.diverged.append(
                f"{self.arm.label} diverged at step {values['diverged_at']}"
            )
        return "diverged_at" in values

    def _value(self, values: Values, name: str, index: int | None) -> float:
        if self.diverged(values):
            return float("nan")
        measured = values["measures"].get(name)
        if measured is None:  # a measure may have no value in some runs
            return float("nan")
        return float(measured if index is None else measured[index])


class OverEpochs:
    """The metrics of one arm over training, and `loss`, the training loss of each epoch.

    >>> over_epochs = trials(DEEP).over_epochs
    >>> assert over_epochs.perplexity.bottoms_at(2)
    >>> assert over_epochs.loss.falls() & over_epochs.perplexity.climbs(after=2)
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        metric = _metric(name, self._trial.arm, TRAINING)
        self._trial.trials.metrics.append(name)
        self._trial.trials.note_metric(self._trial.arm, exact=False)
        if metric.listed:
            return Each(lambda index: self._curve(name, metric, index))
        return self._curve(name, metric)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def _curve(self, name: str, metric: Metric, index: int | None = None) -> Curve:
        trial = self._trial

        def run(values: Values) -> NDArray[np.float64]:
            if trial.diverged(values):
                return np.array([np.nan])
            history = values["history"].get(name)
            if history is None:
                raise AttributeError(
                    f"{trial.arm.label} has no {name} over epochs: its study does not tell it"
                    " after each epoch, as run.epoch(…) does."
                )
            of_index = history if index is None else [entry[index] for entry in history]
            return np.array(of_index, dtype=np.float64)

        return Curve(
            judge=trial.trials.judge,
            label=trial.label(index),
            metric="training loss" if name in TRAINING else name.replace("_", " "),
            epochs=trial.arm.epochs_of(name),
            values=lambda count: [run(v) for v in trial.trials.values(trial.arm, count)],
            scale=Scale(metric.scale, count=metric.examples),
            pairing=trial.arm.pairing,
            repeats=trial.repeats,
        )


def _for_each_seed(values: list[Any], count: int) -> NDArray[np.float64]:
    """Return the values by seed; a single value of an exact metric stands for all seeds."""
    return np.array(values * count if len(values) == 1 else values)


def _metric(name: str, arm: Arm, more: dict[str, Metric]) -> Metric:
    metrics = type(arm).metrics | more
    if name not in metrics:
        raise AttributeError(
            f"{type(arm).__name__} has no metric {name!r}; it has {sorted(metrics)}."
        )
    return metrics[name]


class Each(Generic[T]):
    """A list metric of one arm, such as one value for each block."""

    def __init__(self, at: Callable[[int], T]) -> None:
        self._at = at

    def __getitem__(self, index: int) -> T:
        return self._at(index)


class Rungs:
    """Arms in order; each metric is a ladder that can climb, fall or peak."""

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials

    def __getattr__(self, name: str) -> Ladder:
        return Ladder([getattr(trial, name) for trial in self._trials])

    def __getitem__(self, name: str) -> Ladder:
        ladder: Ladder = getattr(self, name)
        return ladder
