"""The fixture `trials`: a claim asks it for arms, and gets their metrics over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from repro.arm import Arm, Metric, Needs, Run, Values, require_plain
from repro.data.files import TWIN
from repro.judge import (
    LEVEL,
    Curve,
    Design,
    Judge,
    Ladder,
    Measured,
    Runs,
    Scale,
    Verdict,
    p_of_all,
)
from repro.judge.level_shift import Level
from repro.recorded.judging import (
    design_of,
    not_finite,
    remarks_on,
    require_same_ends,
)
from repro.recorded.source import RecordedArm
from repro.report.records import ArmData
from repro.runs.profiles import MOST_SEEDS, RECORDED, Profile
from repro.runs.results import KnownResults, RunsMissing, TrainingFailed
from repro.store import Result

T = TypeVar("T")

TRAINING = {"loss": Metric("identity")}
"""The metrics that the core records after every epoch, for every study."""


class Trials:
    """The `trials` fixture of one claim.

    >>> deep, shallow = trials(DEEP, SHALLOW)
    >>> assert deep.accuracy > shallow.accuracy
    >>> assert trials([SHALLOW, MEDIUM, DEEP]).accuracy.climbs()
    >>> assert trials(DEEP).parameters.matches(41_800)
    """

    def __init__(
        self,
        results: KnownResults,
        profile: Profile,
        requested: dict[Run, None],
        *,
        only_at: str | None = None,
        after: int = 0,
        level: float = LEVEL,
        skip_reason: Callable[[str, Sequence[str]], str | None] | None = None,
    ) -> None:
        self.results, self.profile, self.requested = results, profile, requested
        self.only_at, self.after, self.skip_reason = only_at, after, skip_reason
        self.train: Callable[[Sequence[Run]], None] | None = None
        """Trains missing runs while the claim's test waits; None where it is read ahead."""
        self.declared_level = level
        """The chance of a false verdict in one direction."""
        self.judge = Judge(Design(looks=profile.looks, level=2 * level, futility=profile.futility))
        self.arms: list[Arm] = []
        self.metrics: list[str] = []
        self.diverged: list[str] = []
        self._seeds_read: dict[Arm, int] = {}
        self._found: dict[Arm, list[Result]] = {}
        """The results of each arm's first seeds, as far as they were asked for and exist."""
        self._runs: dict[tuple[Arm, int], Runs] = {}
        self._read_off: dict[Arm, bool] = {}
        """True for an arm of which only exact metrics were asked: one run is enough."""
        self._complete = 0
        """The number of seeds of which all arms are known to have what was asked of them."""

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

        `size` names a profile for the size of the arms, instead of the session's profile.
        """
        if self.only_at and self.only_at != self.profile.name:
            raise Needs(f"is judged at one size only: needs --profile {self.only_at}")
        if len(arms) == 1 and not isinstance(arms[0], Arm):
            return Rungs(self._distinct(arms[0], size))
        trials = self._distinct(arms, size)
        return trials[0] if len(trials) == 1 else tuple(trials)

    def require(self, condition: Verdict, what: str) -> None:
        """Leave the claim `not run` unless a condition is reproduced.

        If two arms only guess, they are equally good, but this says nothing about the claim. Under
        `--gate` a condition gets all looks, since an open one leaves nothing to judge.

        >>> medium, deep = trials(MEDIUM, DEEP)
        >>> is_clear = deep.accuracy.exceeds(0.5, by_at_least=0.02)
        >>> trials.require(is_clear, "a deep arm that stands clear of chance")
        >>> assert medium.accuracy.is_within(0.1, of=deep.accuracy)
        """
        if self.profile.first_look_only and not self.recorded:
            condition = self.judge.again(condition, self.profile.all_looks)
        if not condition:
            raise Needs(f"needs {what}, which it has not here: {condition.measured}")

    def _distinct(self, arms: Sequence[Arm], size: str | None) -> list[Trial]:
        profile = size or self.profile.name
        trials: dict[Arm, Trial] = {}
        for arm in arms:
            here = self.results.located(arm.at(profile))
            require_plain(here)
            self.results.require_sound(here)
            if here in trials:
                raise ValueError(
                    f"trials(...) is asked to compare {here.label} with itself: two of its arms are"
                    f" the same at the profile {profile!r}; let them differ in a setting."
                )
            trials[here] = Trial(here, self)
        self.arms += trials
        self._complete = 0
        kinds = {type(arm).__name__: arm.documented_seeds for arm in self.arms}
        if self.recorded:
            self.judge.design = self._recorded_design()
        elif len(set(kinds.values())) > 1:
            listed = ", ".join(f"{name} {list(seeds) or 'none'}" for name, seeds in kinds.items())
            raise ValueError(
                "The claim's arms are compared seed by seed, but their documented_seeds differ"
                f" ({listed}): give all their classes the same ones."
            )
        return list(trials.values())

    @property
    def recorded(self) -> list[RecordedArm]:
        """The arms whose runs exist already."""
        return [arm for arm in dict.fromkeys(self.arms) if isinstance(arm, RecordedArm)]

    def _recorded_design(self) -> Design:
        """Return the design of recorded arms."""
        if self.after:
            raise ValueError(
                f"after={self.after} leaves out seeds that would be trained, and"
                f" {self.recorded[0].label} is recorded: leave after out, and give its source the"
                " runs that count."
            )
        if len(self.recorded) < len(set(self.arms)):
            raise ValueError(
                f"trials(...) is asked to compare {self.recorded[0].label}, which is recorded, with"
                " arms that are trained here: their runs have nothing in common; make two claims."
            )
        return replace(design_of(self.recorded), level=2 * self.declared_level)

    @property
    def data(self) -> list[str]:
        """The data sets that the arms were trained on."""
        return sorted({arm.data for arm in self.arms})

    @property
    def profile_name(self) -> str:
        """The profile of the verdict; recorded runs have one of their own."""
        return RECORDED if self.recorded else self.profile.name

    @property
    def design(self) -> Design:
        """The looks at which the findings are judged."""
        return self.judge.design

    @property
    def findings(self) -> Sequence[Verdict]:
        """The verdicts so far."""
        return tuple(self.judge.verdicts)

    @property
    def asserted(self) -> Sequence[Verdict]:
        """The asserted verdicts."""
        return tuple(self.judge.findings.asserted)

    @property
    def p(self) -> float | None:
        """The p of all findings together; None if all are exact."""
        return p_of_all(self.findings) if self.level else None

    @property
    def level(self) -> float:
        """The allowed chance of a false verdict, summed over all findings that are not exact."""
        return sum(finding.level for finding in self.findings if not finding.is_exact)

    @property
    def labels(self) -> list[str]:
        """The labels of the arms behind the findings, in the order of the claim."""
        return list(dict.fromkeys(arm.label for arm in self.arms if arm in self._seeds_read))

    @property
    def arms_used(self) -> list[ArmData]:
        """The arms behind the findings, in the order of the claim, with the keys of their runs."""
        found: list[ArmData] = []
        for arm in dict.fromkeys(self.arms):
            if (count := self._seeds_read.get(arm)) is None:
                continue
            settings, seeds = arm.settings(), self._seeds(arm, count)
            if isinstance(arm, RecordedArm):  # files in different folders may have the same name
                settings["data"] = arm.content()
            keys = [result.key for result in self._results(arm, count)]
            found.append(
                ArmData(label=arm.label, study=arm.study, settings=settings, seeds=seeds, keys=keys)
            )
        return found

    @property
    def machine(self) -> str:
        """The machines, torch versions and engines of the runs; each rounds differently."""
        if self.recorded:
            return " and ".join(dict.fromkeys(arm.content() for arm in self.recorded))
        used = [x for arm, count in self._seeds_read.items() for x in self._results(arm, count)]
        made_by = [(result.identity, result.provenance) for result in used]
        machines = {f"{identity['device']} {made.get('machine')}" for identity, made in made_by}
        versions = {f"torch {identity['torch']}" for identity, _ in made_by}
        engines = {made.get("engine", "?") for _, made in made_by}
        return ", ".join(" and ".join(sorted(each)) for each in (machines, versions, engines))

    @property
    def metrics_used(self) -> list[str]:
        """The metrics that the findings are about."""
        return list(dict.fromkeys(self.metrics))

    @property
    def levels(self) -> list[Level]:
        """The mean of each metric of the findings over an arm's seeds, without exact metrics."""
        found: list[Level] = []
        for arm, count in self._seeds_read.items():
            runs = [result.values.get("measures", {}) for result in self._results(arm, count)]
            for metric in self.metrics_used:
                declared = type(arm).metrics.get(metric)
                is_random = declared and not declared.listed and not arm.is_exact(metric)
                values = [run[metric] for run in runs if is_random and run.get(metric) is not None]
                if len(values) > 1 and np.isfinite(values).all():
                    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
                    found.append(Level(arm.label, metric, mean, sd, len(values)))
        return found

    @property
    def remarks(self) -> list[str]:
        """Remarks on the verdicts: diverged runs, and doubts because of the origin of runs."""
        lines, read = list(dict.fromkeys(self.diverged)), self._seeds_read.items()
        if not self.recorded:
            runs = [Run(arm, seed) for arm, count in read for seed in self._seeds(arm, count)]
            return [*lines, *self.results.remarks(runs)]
        for arm, count in read:
            if isinstance(arm, RecordedArm):
                lines += not_finite(arm, arm.seeds(count))
        return [*lines, *remarks_on(self.findings, self.recorded)]

    def values(self, arm: Arm, count: int) -> list[Values]:
        """Return the values of an arm's first seeds; raises `RunsMissing` where some are missing.

        The error names the missing runs of all arms of the claim, since the judge needs the same
        seeds of each.
        """
        if count > self._complete:
            self._require(count)
            if self.recorded:
                require_same_ends(self.recorded, self.metrics)
            self._complete = count
        self._seeds_read[arm] = max(count, self._seeds_read.get(arm, 0))
        return [result.values for result in self._results(arm, count)]

    def runs(self, arm: Arm, count: int) -> Runs:
        """Return an arm's first seeds with all values that a seed can change."""
        if (arm, count) not in self._runs:
            values = self.values(arm, count)
            exact = [name for name in type(arm).metrics if arm.is_exact(name)]
            instead = arm.source.diverged if isinstance(arm, RecordedArm) else {}
            seeds = self._seeds(arm, len(values))
            self._runs[arm, count] = Runs(
                label=self.label_of(arm),
                named=getattr(arm, "named", "seed {}".format),
                by_seed={
                    seed: _varying(run, exact, instead)
                    for seed, run in zip(seeds, values, strict=True)
                },
                is_deterministic=getattr(arm, "deterministic", False),
            )
        return self._runs[arm, count]

    def over_stored(self) -> list[float]:
        """Return the deciding estimate over all stored seeds, and their number.

        Empty where the verdict has all of them. Looks stop at a clear answer, so their estimates
        are too far from the bound on average; this one is not.
        """
        read, requested = dict(self._seeds_read), dict(self.requested)
        finding = self.findings[-1]
        seeds, arms = max(read.values()), [x for x in self.arms if not self._read_off.get(x)]
        while seeds < MOST_SEEDS and all(
            self.results.get(Run(arm, self._seeds(arm, seeds + 1)[-1])) is not None for arm in arms
        ):
            seeds += 1
        is_more = seeds > finding.seeds and not (self.recorded or finding.is_exact)
        effect = self.judge.over(finding, seeds) if is_more else None
        self._seeds_read, found = read, effect and math.isfinite(effect.estimate)
        self.requested.clear()
        self.requested.update(requested)
        return [effect.estimate, seeds] if effect and found else []

    def has(self, seeds: int) -> bool:
        """Return whether all arms have results of this number of seeds.

        Raises `RunsMissing` if missing runs can still be trained. A seed budget forbids more seeds.
        """
        if not self.recorded and seeds > (self.profile.budget or seeds):
            return False
        try:
            self._require(seeds)
        except RunsMissing:
            raise
        except (TrainingFailed, Needs):
            return False
        return True

    def label_of(self, arm: Arm) -> str:
        """Return what tells an arm apart; a recorded one, among those of its claim."""
        if not isinstance(arm, RecordedArm) or len({x.source for x in self.recorded}) > 1:
            return arm.label
        among = [each.chosen for each in self.recorded]
        return arm.source.label_of(arm.chosen, among if len(among) > 1 else ())

    def note_metric(self, arm: Arm, *, exact: bool) -> None:
        """Note that a metric of an arm is used; an exact metric needs one run only."""
        self._read_off[arm] = exact and self._read_off.get(arm, True)
        self._complete = 0

    def _seeds(self, arm: Arm, count: int) -> list[int]:
        """Return the first seeds of an arm, behind those that `after` leaves out."""
        return arm.seeds(self.after + count)[self.after :]

    def _require(self, count: int) -> None:
        """Raise where an arm has fewer seeds than `count`, or none if its metrics are exact."""
        if self.skip_reason and (reason := self.skip_reason(self.profile_name, self.data)):
            raise Needs(reason)
        if self.recorded:
            self._require_recorded(count)
            return
        seeds = {arm: 1 if self._read_off.get(arm) else count for arm in self.arms}
        for arm, most in seeds.items():
            known = len(self._found.get(arm, ()))
            if known < most:
                self.requested.update(
                    {Run(arm, seed): None for seed in self._seeds(arm, most)[known:]}
                )
        self.requested.update(
            {arm.starts_from: None for arm in seeds if arm.starts_from is not None}
        )
        missing = self._missing(seeds)
        if missing and self.train is not None:
            self.train(missing)
            missing = self._missing(seeds)
        if missing:
            raise self.results.missing_error(missing)

    def _missing(self, seeds: Mapping[Arm, int]) -> list[Run]:
        """Return the missing runs of arms, given seeds for each; first the runs they start from.

        Raises `TrainingFailed` if the training of one of them has failed.
        """
        runs = [run for arm, most in seeds.items() for run in self._look_up(arm, most)]
        starts = dict.fromkeys(run.arm.starts_from for run in runs if run.arm.starts_from)
        missing = [*(start for start in starts if self.results.get(start) is None), *runs]
        for run in missing:
            if (failed := self.results.failed(run)) is not None:
                again = TrainingFailed(str(failed), details=failed.details)
                raise again.with_traceback(failed.__traceback__)  # where pdb looks
        return missing

    def _look_up(self, arm: Arm, count: int) -> list[Run]:
        """Look up the results of an arm's first seeds once; return the runs without a result."""
        found = self._found.setdefault(arm, [])
        if len(found) >= count:
            return []
        missing: list[Run] = []
        for seed in self._seeds(arm, count)[len(found) :]:
            run = Run(arm, seed)
            result = self.results.get(run)
            if result is None:
                missing.append(run)
            elif not missing:
                found.append(result)
        return missing

    def _results(self, arm: Arm, count: int) -> list[Result]:
        """Return the results of an arm's first seeds, as far as they exist."""
        self._look_up(arm, count)
        return self._found[arm][:count]

    def _require_recorded(self, count: int) -> None:
        """Raise `Needs` where a look needs more seeds than are recorded."""
        if not self.judge.design.declared and count <= self.judge.design.looks[-1]:
            return
        for arm in self.recorded:
            there = len(arm.seeds(count))
            if there < count:
                raise Needs(
                    f"is open at the looks so far; the next declared one is at {count} seeds, and"
                    f" {arm.data} has {there} of {arm.label}"
                )


def _varying(run: Values, exact: Collection[str], instead: Mapping[str, float]) -> Values:
    """Return the values of a run that its seed may change.

    These are without exact metrics, and without what counts `instead` of a missing value.
    """
    measures, history = run.get("measures", {}), run.get("history", {})
    return {
        "measures": {
            name: None if value == instead.get(name) else value
            for name, value in measures.items()
            if name not in exact
        },
        "history": {name: values for name, values in history.items() if name not in exact},
        "diverged_at": run.get("diverged_at"),
    }


# Arms and their metrics


class Trial:
    """One arm; its metrics are attributes, with an index for a list metric: `trial.alignment[0]`.

    A metric has the value at the end of a run; `trial.over_epochs.accuracy` has the value after
    each epoch. Other names go into brackets, in both places: `trial["val/acc"]`.

    >>> deep = trials(DEEP)
    >>> assert deep.accuracy > 0.8
    """

    def __init__(self, arm: Arm, trials: Trials) -> None:
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
            scale=Scale(metric.scale, count=_examples_of(arm, name, metric)),
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


def _examples_of(arm: Arm, name: str, metric: Metric) -> int | None:
    return arm.source.examples_of(name) if isinstance(arm, RecordedArm) else metric.examples


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
