"""The fixture `trials` of a claim: arms that it can ask for, and their measures over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Metric, Needs, Run, Values, require_hashable
from repro.judge import Curve, Design, Judge, Ladder, Measured, Scale, Verdict, conjunction
from repro.report.record import ArmData
from repro.runs.plan import RunsMissing, TrainingFailed
from repro.runs.profiles import Profile
from repro.runs.results import Results
from repro.store import Result

T = TypeVar("T")

TRAINING = {"loss": Metric("identity")}
"""The metrics that the core records of every epoch, measured or not."""


class Trials:
    """The `trials` fixture of one claim.

    >>> def test_bp_beats_dfa(trials):
    ...     bp, dfa = trials(D256_L4, D256_L4.but(rule="dfa"))
    ...     assert bp.accuracy > dfa.accuracy
    """

    def __init__(
        self,
        results: Results,
        profile: Profile,
        asked: set[Run],
        *,
        only_at: str | None = None,
        spared: Callable[[str, Sequence[str]], str | None] | None = None,
        explains: bool = True,
    ) -> None:
        self.results, self.profile, self.asked = results, profile, asked
        self.only_at, self.spared = only_at, spared
        self.judge = Judge(Design(looks=profile.looks), explains=explains)
        self.arms: list[Arm] = []
        self.metrics: list[str] = []
        self.diverged: list[str] = []
        self._seeds_read: dict[Arm, int] = {}
        self._complete: set[tuple[int, int]] = set()  # of so many arms, so many seeds are trained

    @overload
    def __call__(self, arm: Arm, /, *, size: str | None = None) -> Trial: ...
    @overload
    def __call__(self, arms: Sequence[Arm], /, *, size: str | None = None) -> Rungs: ...
    @overload
    def __call__(
        self, first: Arm, second: Arm, /, *more: Arm, size: str | None = None
    ) -> tuple[Trial, ...]: ...
    def __call__(self, *arms: Any, size: str | None = None) -> Any:
        """Return the trials of one arm, of several, or of a list of arms as a ladder.

        `size` names the profile whose size the arms have, where that is not the session's.
        """
        if self.only_at and self.only_at != self.profile.name:
            raise Needs(f"is judged at the documented size only: needs --profile {self.only_at}")
        if len(arms) == 1 and not isinstance(arms[0], Arm):
            return Rungs(self._distinct(arms[0], size))
        trials = self._distinct(arms, size)
        return trials[0] if len(trials) == 1 else tuple(trials)

    def _distinct(self, arms: Sequence[Arm], size: str | None) -> list[Trial]:
        profile = size or self.profile.name
        trials: dict[Arm, Trial] = {}
        for arm in arms:
            here = arm.at(profile).located()
            require_hashable(here)
            self.results.require_sound(here)
            if here in trials:
                raise ValueError(
                    f"trials(...) is asked to compare {here.label} with itself: two of its arms are"
                    f" the same at the profile {profile!r}; let them differ in a setting."
                )
            trials[here] = Trial(here, self)
        self.arms += trials
        return list(trials.values())

    @property
    def data(self) -> list[str]:
        """The data sets that the arms were trained on."""
        return sorted({arm.data for arm in self.arms})

    @property
    def profile_name(self) -> str:
        """The profile that the verdict is about."""
        return self.profile.name

    @property
    def findings(self) -> list[Verdict]:
        """The verdicts so far."""
        return self.judge.verdicts

    @property
    def p(self) -> float | None:
        """The p of all findings together, for the error over the whole suite."""
        return conjunction(*self.findings).p if self.findings else None

    @property
    def arms_used(self) -> list[ArmData]:
        """The arms behind the findings, as the claim lists them, and where their runs are."""
        read = self._seeds_read
        return [self._data_of(arm, read[arm]) for arm in dict.fromkeys(self.arms) if arm in read]

    def _data_of(self, arm: Arm, count: int) -> ArmData:
        seeds = arm.seeds(count)
        return ArmData(
            label=arm.label,
            study=arm.study,
            settings=arm.settings(),
            seeds=seeds,
            keys=[self.results.key(Run(arm, seed)) for seed in seeds],
        )

    @property
    def machine(self) -> str:
        """The machines, torch and engines that trained the runs: others round differently."""
        used = [
            result
            for arm, count in self._seeds_read.items()
            for seed in arm.seeds(count)
            if (result := self.results.get(Run(arm, seed))) is not None
        ]
        made_by = [(result.identity, result.provenance) for result in used]
        machines = {f"{identity['device']} {made.get('machine')}" for identity, made in made_by}
        versions = {f"torch {identity['torch']}" for identity, _ in made_by}
        engines = {identity["engine"] for identity, _ in made_by}
        return ", ".join(" and ".join(sorted(each)) for each in (machines, versions, engines))

    @property
    def metrics_used(self) -> list[str]:
        """The metrics that the findings are about."""
        return list(dict.fromkeys(self.metrics))

    @property
    def remarks(self) -> list[str]:
        """Remarks on the verdicts: the runs that diverged."""
        return list(dict.fromkeys(self.diverged))

    def values(self, arm: Arm, count: int) -> list[Values]:
        """Return the values of an arm's first seeds; raises `RunsMissing` where some are missing.

        It then names the runs that all arms of the claim miss, since the judge will ask for the
        same seeds of each.
        """
        self._require(count)
        self._seeds_read[arm] = max(count, self._seeds_read.get(arm, 0))
        results = (self._result(Run(arm, seed)) for seed in arm.seeds(count))
        return [result.values for result in results if result is not None]

    def _result(self, run: Run) -> Result | None:
        why = self.results.failed(run)
        if why is not None:
            raise TrainingFailed(why)
        return self.results.get(run)

    def _require(self, count: int) -> None:
        if (len(self.arms), count) in self._complete:
            return
        if self.spared and (reason := self.spared(self.profile_name, self.data)):
            raise Needs(reason)
        runs = [Run(arm, seed) for arm in self.arms for seed in arm.seeds(count)]
        starts = {start for arm in self.arms if (start := arm.starts_from) is not None}
        self.asked.update(runs, starts)
        missing = [run for run in runs if self._result(run) is None]
        if missing:
            raise RunsMissing(
                [*(start for start in starts if self._result(start) is None), *missing]
            )
        self._complete.add((len(self.arms), count))


class Trial:
    """One arm; its metrics are its attributes, a list metric by index: `trial.alignment[0]`.

    They are what a run ended with; `trial.over_epochs.accuracy` is the way there.
    """

    def __init__(self, arm: Arm, trials: Trials) -> None:
        self.arm, self.trials = arm, trials

    def __getattr__(self, name: str) -> Any:
        metric = _metric(name, self.arm, {})
        self.trials.metrics.append(name)
        if metric.listed:
            return Each(lambda index: self.measured(name, metric, index))
        return self.measured(name, metric)

    @property
    def over_epochs(self) -> OverEpochs:
        """The same metrics as curves over training."""
        return OverEpochs(self)

    def measured(self, name: str, metric: Metric, index: int | None = None) -> Measured:
        """Return a metric, or one of a list of them, over the first seeds."""
        trials = self.trials

        def values(count: int) -> NDArray[np.float64]:
            return np.array([self._value(v, name, index) for v in trials.values(self.arm, count)])

        return Measured(
            judge=trials.judge,
            label=self.label(index),
            metric=name.replace("_", " "),
            values=values,
            scale=Scale(metric.scale, count=metric.examples),
            by_example=self._by_example(metric.sampled) if metric.sampled else None,
            origin=(self.arm, name, index),
        )

    def _by_example(self, name: str) -> Callable[[int], NDArray[np.float64]]:
        def values(count: int) -> NDArray[np.float64]:  # [seeds, examples]
            values = self.trials.values(self.arm, count)
            return np.array([v["measures"][name] for v in values if "measures" in v])

        return values

    def label(self, index: int | None) -> str:
        """The arm, or its place in a list metric."""
        return self.arm.label if index is None else f"{self.arm.label} [{index}]"

    def diverged(self, values: Values) -> bool:
        """Return whether a run diverged, so that it has no values; remark on it if so."""
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

    >>> def test_overfits_after_the_first_epoch(trials):
    ...     over_epochs = trials(STANDARD).over_epochs
    ...     assert over_epochs.perplexity.bottoms_at(1)
    ...     assert over_epochs.loss.falls_while(over_epochs.perplexity)
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __getattr__(self, name: str) -> Any:
        metric = _metric(name, self._trial.arm, TRAINING)
        self._trial.trials.metrics.append(name)
        if metric.listed:
            return Each(lambda index: self._curve(name, metric, index))
        return self._curve(name, metric)

    def _curve(self, name: str, metric: Metric, index: int | None = None) -> Curve:
        trial = self._trial

        def run(values: Values) -> NDArray[np.float64]:
            if trial.diverged(values):
                return np.array([np.nan])
            history = values["history"].get(name)
            if history is None:
                raise AttributeError(
                    f"Nothing is known of {trial.arm.label} over epochs: it trains outside."
                )
            return np.array(history if index is None else [entry[index] for entry in history])

        return Curve(
            judge=trial.trials.judge,
            label=trial.label(index),
            metric="training loss" if name in TRAINING else name.replace("_", " "),
            epochs=trial.arm.epochs_known(measured=name not in TRAINING),
            values=lambda count: [run(v) for v in trial.trials.values(trial.arm, count)],
            scale=Scale(metric.scale, count=metric.examples),
        )


def _metric(name: str, arm: Arm, more: dict[str, Metric]) -> Metric:
    metrics = type(arm).metrics | more
    if name not in metrics:
        raise AttributeError(
            f"{type(arm).__name__} has no metric {name!r}; it has {sorted(metrics)}."
        )
    return metrics[name]


class Each(Generic[T]):
    """A list metric of one arm, such as one value a block."""

    def __init__(self, at: Callable[[int], T]) -> None:
        self._at = at

    def __getitem__(self, index: int) -> T:
        return self._at(index)


class Rungs:
    """Arms in order; a metric of theirs is a ladder that can be said to climb, fall or peak."""

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials

    def __getattr__(self, name: str) -> Ladder:
        return Ladder([getattr(trial, name) for trial in self._trials])
