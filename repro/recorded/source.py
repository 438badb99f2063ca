"""The source of recorded runs: its files, the meaning of their columns, and its arms."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from repro.arm import Arm, Metric, Needs, Settings
from repro.judge import Runs
from repro.judge.scale import Array
from repro.recorded.rows import NoFile, Read, RecordedError, Row, require_spread, rows_of
from repro.recorded.runs import (
    WORDS,
    Chosen,
    Columns,
    RecordedArmRuns,
    ranges,
    runs_of,
    setting,
    steps_of,
    word_for,
)

ALL = 2**63
"""A number of seeds that stands for all."""

AS_RECORDED = "as recorded"
"""With this value of `ends`, runs may end at different epochs."""


def recorded(
    path: str | Path,
    *,
    arm: str | Sequence[str],
    seed: str | None,
    metrics: Mapping[str, Metric],
    paired: bool = False,
    epoch: str | None = None,
    tags: Mapping[str, str] | None = None,
    columns: str | None = None,
    diverged: Mapping[str, float] | None = None,
    looks: Sequence[int] | Literal["any"] = (),
    ends: str = "alike",
    spread: str = "own",
    read: Read | None = None,
    get: str = "",
) -> Recorded:
    """Return the recorded runs of one or many files as a source; claims take arms from it.

    `path` is relative to the calling file. Fields in braces take their values from the names of
    files and folders: `runs/{method}/seed_{seed}.csv`. The suffix selects the reader for CSV, JSON
    lines, JSON and Parquet. For other files give `read`, a function of the path that returns rows
    as mappings.

    `arm` names the columns that tell arms apart, `seed` the column that numbers or names runs, and
    `epoch` the column that counts epochs or steps. Without either say `seed=None`: then each row is
    a run, and with `epoch` each file. `tags` maps a metric to its name in the files, if that
    differs. `columns` is a pattern for wide tables: `seed_{seed}`, or `{method} - {metric}`.

    `paired=True` says that a seed is the same initialisation and data order in every arm. A missing
    value or NaN leaves a claim inconclusive, unless `diverged` gives a value for it.
    `looks` declares the numbers of seeds at which to judge, if more runs will come, or `"any"` to
    judge whenever they do; by default there is one look. With `ends="as recorded"` runs may end at
    different epochs, as with early stopping. Otherwise claims on such runs are refused, since a run
    that was cut off has no final value. `spread="same"` says that all arms have one spread, which
    few runs then estimate together. `get` says how to make the file: without the file, claims are
    not run and repeat it.

    >>> RESULTS = recorded("results.csv", arm=["method", "width"], seed="seed",
    ...                    metrics={"accuracy": Metric("log-odds", examples=10_000)})
    >>> RESULTS(method="smoothing").chosen
    (('method', 'smoothing'),)
    """
    names = (arm,) if isinstance(arm, str) else tuple(arm)
    if not names:
        raise RecordedError("recorded(…) needs arm=: the columns that tell arms apart.")
    if not metrics:
        raise RecordedError("recorded(…) needs metrics=: what is compared, and on which scale.")
    if paired and seed is None:
        raise RecordedError(
            "paired=True pairs runs by their seed: say in seed= which column it is."
        )
    for name, metric in metrics.items():
        if metric.sampled:
            raise RecordedError(
                f"{name} is declared as the mean over {metric.sampled}, one value an example, which"
                " recorded runs do not have: leave sampled= out."
            )
    if ends not in ("alike", AS_RECORDED):
        raise RecordedError(f"ends={ends!r} is not known: say {AS_RECORDED!r}, or leave it out.")
    require_spread(spread, paired=paired)
    unknown = {*(tags or {}), *(diverged or {})} - metrics.keys()
    if unknown:
        raise RecordedError(f"{min(unknown)!r} is none of the metrics {', '.join(metrics)}.")
    caller = sys._getframe(1).f_globals.get("__file__")
    return Recorded(
        path=str(path),
        folder=Path(caller).parent if caller else Path.cwd(),
        columns=Columns(
            arm=names,
            seed=seed,
            epoch=epoch,
            metrics={name: (tags or {}).get(name, name) for name in metrics},
            listed=frozenset(name for name, metric in metrics.items() if metric.listed),
        ),
        metrics=dict(metrics),
        paired=paired,
        wide=columns,
        diverged=dict(diverged or {}),
        looks=looks if looks == "any" else tuple(looks),
        ends=ends,
        spread=spread,
        read=read,
        get=get,
    )


@dataclass(eq=False)
class Recorded:
    """A source of recorded runs; its files are read when the first claim asks for an arm."""

    path: str
    folder: Path
    columns: Columns
    metrics: dict[str, Metric]
    paired: bool
    wide: str | None
    diverged: dict[str, float]
    looks: tuple[int, ...] | Literal["any"]
    ends: str
    spread: str
    read: Read | None
    get: str
    empty: list[Row] = field(default_factory=list)
    """The rows of runs without any cell that is read; they crashed as they began."""
    _only: dict[Chosen, Chosen] = field(default_factory=dict)
    _examples: dict[str, int | None] = field(default_factory=dict)

    def __call__(self, **chosen: Any) -> RecordedArm:
        """Return the arm with these settings; name enough of them to select one arm.

        >>> RESULTS(method="plain", width=64)
        """
        for name in chosen:
            if name not in self.columns.arm:
                raise RecordedError(
                    f"{name!r} tells no arms apart in {self.path}; these do:"
                    f" {', '.join(self.columns.arm)}."
                )
        given = tuple((n, setting(chosen[n])) for n in self.columns.arm if n in chosen)
        return self.arm_of(given)

    @cached_property
    def _kind(self) -> Callable[..., RecordedArm]:
        return type("Recording", (RecordedArm,), {"source": self, "metrics": self.metrics})

    @cached_property
    def arms(self) -> dict[Chosen, RecordedArmRuns]:
        """The runs of each arm; the files are read once."""
        try:
            rows = rows_of(
                self.path,
                folder=self.folder,
                read=self.read,
                columns=self.wide,
                metrics=list(self.columns.metrics.values()),
            )
        except NoFile:
            if not self.get:
                raise
            raise Needs(f"needs {self.path}: {self.get}") from None
        self.empty = list(filter(self.columns.is_empty, rows))
        arms = runs_of([row for row in rows if not self.columns.is_empty(row)], self.columns)
        for arm in arms.values():
            arm.runs = dict(sorted(arm.runs.items()))
        return arms

    def runs(self, chosen: Chosen) -> RecordedArmRuns:
        return self.arms[chosen]

    def only(self, given: Chosen) -> Chosen:
        """Return all settings of the only arm with the given ones; raises `RecordedError`."""
        if given in self._only:
            return self._only[given]
        found = self._with(given)
        words = ", ".join(f"{name}={value!r}" for name, value in given)
        if not found:
            unknown = [n for n, x in given if not any((n, x) in chosen for chosen in self.arms)]
            name = unknown[0] if unknown else given[-1][0]
            there = dict.fromkeys(x for chosen in self.arms for n, x in chosen if n == name)
            raise RecordedError(
                f"{self.path} has no runs with {words}; {name} is one of"
                f" {', '.join(map(str, there))}."
            )
        if len(found) > 1:
            apart = [n for n in self.columns.arm if len({dict(chosen)[n] for chosen in found}) > 1]
            raise RecordedError(
                f"{words or 'Nothing is named, and that'} fits {len(found)} arms of {self.path},"
                f" which differ in {', '.join(apart)}: name one of them."
            )
        if self.arms[found[0]].wrong:
            raise RecordedError(f"{self.label_of(found[0])}: {self.arms[found[0]].wrong}")
        self._only[given] = found[0]
        return found[0]

    def arm_of(self, chosen: Chosen) -> RecordedArm:
        """Return the arm with these settings."""
        return self._kind(data=self.path, chosen=chosen)

    def _with(self, given: Chosen) -> list[Chosen]:
        """Return the arms that have the given settings."""
        if given in self.arms:
            return [given]
        return [chosen for chosen in self.arms if set(given) <= set(chosen)]

    @cached_property
    def means(self) -> dict[str, dict[Chosen, float]]:
        """The mean of each metric over the runs of each arm, if no run lacks a number."""
        means: dict[str, dict[Chosen, float]] = {metric: {} for metric in self.metrics}
        for (metric, of_metric), (chosen, arm) in product(means.items(), self.arms.items()):
            values = [run.measures.get(metric) for run in arm.runs.values()]
            numbers = [value for value in values if isinstance(value, float)]
            if numbers and len(numbers) == len(values):
                of_metric[chosen] = fmean(numbers)
        return means

    def alike(self, metric: str) -> list[Array]:
        """The values of a metric of each arm, without runs that repeat others."""
        found: list[Array] = []
        for chosen, arm in self.arms.items():
            values = {seed: run.measures.get(metric) for seed, run in arm.runs.items()}
            instead = self.diverged.get(metric)
            numbers = {seed: instead if x is None else x for seed, x in values.items()}
            if arm.wrong or not all(isinstance(x, float) for x in numbers.values()):
                continue
            left_out = sorted(Runs(label=self.label_of(chosen), by_seed=numbers).left_out)
            sample = np.delete(np.array(list(numbers.values()), dtype=float), left_out)
            found += [sample] if len(sample) > 1 else []
        return found

    def examples_of(self, metric: str) -> int | None:
        """Return the examples of a metric, or the steps of its rounded values."""
        if metric not in self._examples:
            on, arms = self.metrics[metric], self.arms.values()
            samples = [[run.measures.get(metric) for run in arm.runs.values()] for arm in arms]
            numbers = [x for x in samples if all(isinstance(each, float) for each in x)]
            self._examples[metric] = on.examples or steps_of(on, cast(list[list[float]], numbers))
        return self._examples[metric]

    def rivals(self, chosen: Chosen) -> list[Chosen]:
        """Return the arms that differ from an arm in a single setting."""
        return [
            other
            for place, value in enumerate(chosen)
            for other in self._alike[place, chosen[:place], chosen[place + 1 :]]
            if other[place] != value
        ]

    @cached_property
    def _alike(self) -> dict[tuple[int, Chosen, Chosen], list[Chosen]]:
        """The arms that are equal except for the setting at one index."""
        alike: dict[tuple[int, Chosen, Chosen], list[Chosen]] = {}
        for chosen in self.arms:
            for place in range(len(chosen)):
                others = chosen[:place], chosen[place + 1 :]
                alike.setdefault((place, *others), []).append(chosen)
        return alike

    def label_of(self, chosen: Chosen, among: Collection[Chosen] = ()) -> str:
        """Return the settings that differ among some arms, or all; a number follows its name."""
        varying = _varying(among) if among else self._varying
        shown = [pair for pair in chosen if pair[0] in varying] or list(chosen)
        words = (
            value if isinstance(value, str) and value not in WORDS else f"{name} {value}"
            for name, value in shown
        )
        return ", ".join(words) or self.path

    @cached_property
    def _varying(self) -> set[str]:
        return _varying(self.arms)

    @cached_property
    def content(self) -> str:
        """The files and their hash, in words."""
        files = {run.first.file for arm in self.arms.values() for run in arm.runs.values()}
        if len(files) == 1:
            return f"{self.path} (sha256 {next(iter(files)).sha256[:12]})"
        text = "".join(sorted(f"{each.sha256}  {each.name}\n" for each in files))
        return f"{self.path} ({len(files)} files, {hashlib.sha256(text.encode()).hexdigest()[:12]})"


def _varying(arms: Iterable[Chosen]) -> set[str]:
    """Return the settings in which arms differ."""
    every: dict[str, set[object]] = {}
    for name, value in (pair for chosen in arms for pair in chosen):
        every.setdefault(name, set()).add(value)
    return {name for name, values in every.items() if len(values) > 1}


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedArm(Arm):
    """One arm of a source of recorded runs."""

    study: ClassVar[str] = "repro.recorded"
    source: ClassVar[Recorded]

    chosen: Chosen
    """The settings that a claim names; after `located`, all settings."""

    @cached_property
    def _exact(self) -> str:
        """A text that only equal arms share; it names the source, since file names may be equal."""
        return f"{id(self.source)} {self.chosen!r}"

    def at(self, profile: str) -> Self:
        """Return the arm itself, since recorded runs have one size."""
        return self

    def content(self) -> str:
        return self.source.content

    def settings(self) -> Settings:
        return {"arm": "recorded", "data": self.data, **dict(self.chosen)}

    @cached_property
    def label(self) -> str:
        """The settings in which it differs from other arms of its source."""
        return self.source.label_of(self.chosen)

    def located(self) -> Self:
        """Return this arm with all settings; raises `RecordedError` unless exactly one fits."""
        return cast(Self, self.source.arm_of(self.source.only(self.chosen)))

    @property
    def steps(self) -> int:
        return 0

    @property
    def work(self) -> float:
        return 0.0

    def epochs_of(self, metric: str) -> list[int]:
        """Return the epochs or steps at which a metric was recorded."""
        return self.source.runs(self.chosen).epochs(metric)

    def seeds(self, count: int) -> list[int]:  # type: ignore[override]  # each arm has its own
        """Return the first `count` recorded seeds, or all if there are fewer."""
        return list(self.source.runs(self.chosen).runs)[:count]

    @property
    def word(self) -> str:
        """The word for what its sample counts, seeds or runs."""
        return word_for(self.source.columns.seed, self.source.runs(self.chosen).runs.values())

    def named(self, *seeds: int) -> str:
        """Return its runs in words, by their seeds, names or numbers."""
        runs = self.source.runs(self.chosen).runs
        names = [runs[seed].name for seed in seeds]
        return f"{self.word.removesuffix('s')} {', '.join(names) if all(names) else ranges(seeds)}"

    def alike(self, metric: str) -> Any:
        return partial(self.source.alike, metric) if self.source.spread == "same" else None

    @property
    def pairing(self) -> object:
        """None for paired arms; else this arm itself, whose runs are independent of all others."""
        return None if self.source.paired else self

    def __getstate__(self) -> Any:
        raise TypeError("recorded runs are judged where their record is, and are sent nowhere")
