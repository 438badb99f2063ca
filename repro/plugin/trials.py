"""What a claim's test works with: arms it can ask for, and their measures over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Metric, Needs, Run
from repro.executor.protocol import Executor, Values
from repro.judge import Design, Judge, Ladder, Measured, Scale, Verdict
from repro.plan import Profile, RunsMissing


class Trials:
    """The `trials` fixture of one claim.

    >>> def test_bp_beats_dfa(trials):
    ...     bp, dfa = trials(D256_L4, D256_L4.but(rule="dfa"))
    ...     assert bp.accuracy > dfa.accuracy
    """

    def __init__(
        self, executor: Executor, profile: Profile, asked: set[Run], *, only_at: str | None = None
    ) -> None:
        self.executor, self.profile, self.asked, self.only_at = executor, profile, asked, only_at
        self.judge = Judge(Design(looks=profile.looks))
        self.arms: list[Arm] = []
        self.diverged: list[str] = []

    @overload
    def __call__(self, arm: Arm, /, *, size: str | None = None) -> Trial: ...
    @overload
    def __call__(self, arms: Sequence[Arm], /, *, size: str | None = None) -> Rungs: ...
    @overload
    def __call__(
        self, first: Arm, second: Arm, /, *more: Arm, size: str | None = None
    ) -> tuple[Trial, ...]: ...
    def __call__(self, *arms: Any, size: str | None = None) -> Any:
        """The trials of one arm, of several, or of a list of arms as a ladder.

        `size` names the profile whose size the arms have, where that is not the session's.
        """
        if self.only_at and self.only_at != self.profile.name:
            raise Needs(f"is judged at the documented size only: needs --profile {self.only_at}")
        if len(arms) == 1 and not isinstance(arms[0], Arm):
            return Rungs([self._trial(arm, size) for arm in arms[0]])
        found = tuple(self._trial(arm, size) for arm in arms)
        return found[0] if len(found) == 1 else found

    def _trial(self, arm: Arm, size: str | None) -> Trial:
        here = arm.at(size or self.profile.name).located()
        self.arms.append(here)
        return Trial(here, self)

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
    def remarks(self) -> list[str]:
        """What else there is to know of the verdicts: the runs that diverged."""
        return list(dict.fromkeys(self.diverged))

    def values(self, arm: Arm, count: int) -> list[Values]:
        """The results of an arm's first seeds.

        Raises `RunsMissing` where they are not all trained. It then names what all arms of the
        claim lack, since the judge will ask for the same seeds of each.
        """
        runs = [Run(company, seed) for company in self.arms for seed in company.seeds(count)]
        self.asked.update(runs)
        found = {run: self.executor.result(run) for run in runs}
        missing = [run for run, values in found.items() if values is None]
        if missing:
            raise RunsMissing(missing)
        return [values for run, values in found.items() if run.arm == arm and values is not None]


class Trial:
    """One arm; its metrics are its attributes, a list metric by index: `trial.alignment[0]`."""

    def __init__(self, arm: Arm, trials: Trials) -> None:
        self.arm, self.trials = arm, trials

    def __getattr__(self, name: str) -> Any:
        metrics = type(self.arm).metrics
        if name not in metrics:
            raise AttributeError(
                f"{type(self.arm).__name__} has no metric {name!r}; it has {sorted(metrics)}."
            )
        metric = metrics[name]
        return Each(self, name, metric) if metric.listed else self.measured(name, metric)

    def measured(self, name: str, metric: Metric, index: int | None = None) -> Measured:
        """A metric, or one of a list of them, over the first seeds."""
        trials = self.trials

        def values(count: int) -> NDArray[np.float64]:
            return np.array([self._value(v, name, index) for v in trials.values(self.arm, count)])

        return Measured(
            judge=trials.judge,
            label=self.arm.label if index is None else f"{self.arm.label} [{index}]",
            metric=name.replace("_", " "),
            values=values,
            scale=Scale(metric.scale, count=metric.examples),
        )

    def _value(self, values: Values, name: str, index: int | None) -> float:
        if "diverged_at" in values:
            self.trials.diverged.append(
                f"{self.arm.label} diverged at step {values['diverged_at']}"
            )
            return float("nan")
        measured = values["measures"][name]
        return float(measured if index is None else measured[index])


class Each:
    """A list metric of one arm, such as one value a block."""

    def __init__(self, trial: Trial, name: str, metric: Metric) -> None:
        self._measured: Callable[[int], Measured] = lambda i: trial.measured(name, metric, i)

    def __getitem__(self, index: int) -> Measured:
        return self._measured(index)


class Rungs:
    """Arms in order; a metric of theirs is a ladder that can be said to climb, fall or peak."""

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials

    def __getattr__(self, name: str) -> Ladder:
        return Ladder([getattr(trial, name) for trial in self._trials])
