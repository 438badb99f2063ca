"""One arm of a claim with its metrics as attributes, and several arms as a ladder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Metric, Values
from repro.data.files import TWIN
from repro.judge import Curve, Judge, Ladder, Measured, Runs, Scale

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

    def runs(self, arm: Arm, count: int) -> Runs:
        """Return an arm's first seeds with all values that a seed can change."""
        ...

    def label_of(self, arm: Arm) -> str:
        """Return what tells an arm apart."""
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
        self._arm, self._trials = arm, trials

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: str) -> Any:
        metric = _metric(name, self._arm, type(self._arm).metrics)
        self._trials.metrics.append(name)
        if metric.listed:
            return Each(lambda index: self._measured(name, metric, index))
        return self._measured(name, metric)

    def _no_metric(self, other: object) -> NoReturn:
        first = next(iter(type(self._arm).metrics), "accuracy")
        raise TypeError(
            f"{self._arm.label} is an arm, and claims compare metrics: write a.{first} > b.{first}."
        )

    __gt__ = __lt__ = __ge__ = __le__ = __sub__ = _no_metric

    @property
    def over_epochs(self) -> OverEpochs:
        """The same metrics as curves over training.

        >>> assert trials(DEEP).over_epochs.perplexity.bottoms_at(2)
        """
        return OverEpochs(self)

    def _measured(self, name: str, metric: Metric, index: int | None = None) -> Measured:
        """Return a metric over seeds, or one element of a list metric."""
        arm, trials, is_exact = self._arm, self._trials, self._arm.is_exact(name, index)
        trials.note_metric(arm, exact=is_exact)

        def values(count: int) -> NDArray[np.float64]:
            runs = trials.values(arm, 1 if is_exact else count)
            return _for_each_seed([self._value(run, name, index) for run in runs], count)

        return Measured(
            judge=trials.judge,
            label=self._label(index),
            metric=name.replace("_", " "),
            values=values,
            scale=Scale(metric.scale, count=metric.examples),
            by_example=self._by_example(metric.sampled, is_exact) if metric.sampled else None,
            is_exact=is_exact,
            pairing=arm.pairing,
            runs=partial(trials.runs, arm),
            word=getattr(arm, "word", "seeds"),
            alike=arm.alike(name),
            stands_in=arm.data.endswith(TWIN),
            origin=(arm, name, index),
        )

    def _by_example(self, name: str, is_exact: bool) -> Callable[[int], NDArray[np.float64]]:
        def values(count: int) -> NDArray[np.float64]:  # [seeds, examples]
            runs = self._trials.values(self._arm, 1 if is_exact else count)
            return _for_each_seed([v["measures"][name] for v in runs if "measures" in v], count)

        return values

    def _label(self, index: int | None) -> str:
        """The label of the arm, with the index of a list metric."""
        label = self._trials.label_of(self._arm)
        return label if index is None else f"{label} [{index}]"

    def _diverged(self, values: Values) -> bool:
        """Return whether a run diverged, and remark on it; such a run has no values."""
        if "diverged_at" in values:
            self._trials.diverged.append(
                f"{self._arm.label} diverged at step {values['diverged_at']}"
            )
        return "diverged_at" in values

    def _value(self, values: Values, name: str, index: int | None) -> float:
        if self._diverged(values):
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
        self._trial, self._arm, self._trials = trial, trial._arm, trial._trials

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __getitem__(self, name: str) -> Any:
        metric = _metric(name, self._arm, TRAINING | type(self._arm).metrics)
        self._trials.metrics.append(name)
        self._trials.note_metric(self._arm, exact=False)
        if metric.listed:
            return Each(lambda index: self._curve(name, metric, index))
        return self._curve(name, metric)

    def _curve(self, name: str, metric: Metric, index: int | None = None) -> Curve:
        trial, arm, trials = self._trial, self._arm, self._trials

        def run(values: Values) -> NDArray[np.float64]:
            if trial._diverged(values):
                return np.array([np.nan])
            history = values["history"].get(name)
            if history is None:
                raise AttributeError(
                    f"{arm.label} has no {name} over epochs: its study does not tell it"
                    " after each epoch, as run.epoch(…) does."
                )
            of_index = history if index is None else [entry[index] for entry in history]
            return np.array(of_index, dtype=np.float64)

        def curves(count: int) -> list[NDArray[np.float64]]:
            return [run(values) for values in trials.values(arm, count)]

        last = Measured(
            judge=trials.judge,
            label=trial._label(index),
            metric="training loss" if metric is TRAINING.get(name) else name.replace("_", " "),
            values=lambda count: np.array([curve[-1] for curve in curves(count)]),
            scale=Scale(metric.scale, count=metric.examples),
            pairing=arm.pairing,
            runs=partial(trials.runs, arm),
            word=getattr(arm, "word", "seeds"),
            stands_in=arm.data.endswith(TWIN),
        )
        return Curve(of=last, epochs=arm.epochs_of(name), values=curves)


def _for_each_seed(values: list[Any], count: int) -> NDArray[np.float64]:
    """Return the values by seed; a single value of an exact metric stands for all seeds."""
    return np.array(values * count if len(values) == 1 else values)


def _metric(name: str, arm: Arm, metrics: Mapping[str, Metric]) -> Metric:
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
        return self[name]

    def __getitem__(self, name: str) -> Ladder:
        return Ladder([trial[name] for trial in self._trials])
