"""The runs that rows tell of: one for each arm and seed, with its measures and its curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from repro.recorded.cells import Number, Setting, is_empty, number, setting, whole
from repro.recorded.errors import RecordedError
from repro.recorded.table import File, Row

Chosen = tuple[tuple[str, Setting], ...]
"""The settings of an arm: the name of each column with what it says."""


@dataclass(frozen=True)
class Columns:
    """The meaning of the columns of a table."""

    arm: tuple[str, ...]
    seed: str | None
    """None where runs have no seeds: they are counted in the order of their rows."""
    epoch: str | None
    """The column that counts epochs or steps, where a run has a row for each."""
    metrics: Mapping[str, str]
    """The column of each metric."""
    listed: frozenset[str] = frozenset()
    """The metrics of which a run has several values."""


@dataclass
class RecordedRun:
    """One run, as it was recorded."""

    place: str
    """The row that it stands in, or the first of them."""
    file: File
    measures: dict[str, Number] = field(default_factory=dict)
    """Its last values; None where one is no finite number, no name where there is nothing."""
    curves: dict[str, dict[int, Number]] = field(default_factory=dict)
    """The values of each metric by epoch or step."""

    @property
    def where(self) -> str:
        return f"{self.place} of {self.file.name}"


@dataclass
class RecordedArmRuns:
    """The runs of one arm, by seed; `wrong` says what makes them no sample."""

    runs: dict[int, RecordedRun] = field(default_factory=dict)
    wrong: str = ""

    def epochs(self, metric: str) -> list[int]:
        """Return the epochs at which a metric is known, those of the run that went furthest.

        Raises `RecordedError` where a run has a gap: a curve ends early, or it is whole.
        """
        curves = {seed: run.curves.get(metric, {}) for seed, run in self.runs.items()}
        every = sorted(set().union(*curves.values()))
        for seed, curve in curves.items():
            known = sorted(curve)
            if known != every[: len(known)]:
                gap = next(epoch for epoch in every if epoch not in curve)
                raise RecordedError(
                    f"Seed {seed} ({self.runs[seed].where}) has no {metric} at {gap}, where other"
                    " seeds have one and it goes on: curves are compared at the same epochs."
                )
        return every


def runs_of(rows: Sequence[Row], columns: Columns) -> dict[Chosen, RecordedArmRuns]:
    """Return the runs of each arm, in the order of the rows; raises `RecordedError`.

    What is wrong with the rows of one arm costs that arm alone.
    """
    _require_columns(rows, columns)
    arms: dict[Chosen, RecordedArmRuns] = {}
    known: dict[tuple[object, ...], Chosen] = {}
    whole_seeds: dict[object, int | None] = {}
    for row in rows:
        texts = tuple(row.cells.get(name) for name in columns.arm)
        chosen = known.get(texts)
        if chosen is None:
            chosen = tuple(
                (name, setting(text)) for name, text in zip(columns.arm, texts, strict=True)
            )
            known[texts] = chosen
        of_arm = arms.setdefault(chosen, RecordedArmRuns())
        if of_arm.wrong:
            continue
        seed: int | None = len(of_arm.runs) + 1
        if columns.seed is not None:
            text = row.cells.get(columns.seed)
            if text not in whole_seeds:
                whole_seeds[text] = whole(text)
            seed = whole_seeds[text]
        if seed is None:
            assert columns.seed is not None
            of_arm.wrong = (
                f"{columns.seed} is {row.cells.get(columns.seed)!r} in {row.where}, which is no"
                " whole number: number the runs, or leave seed= out where they are not paired."
            )
        else:
            of_arm.wrong = _add(of_arm.runs, seed, row, columns, rows)
    for of_arm in arms.values():
        of_arm.runs = dict(sorted(of_arm.runs.items()))
        for run in of_arm.runs.values():
            _end(run)
    return arms


def _require_columns(rows: Sequence[Row], columns: Columns) -> None:
    there: dict[str, None] = {}
    files = set()
    for row in rows:
        if row.file not in files or row.place.startswith("row "):
            files.add(row.file)
            there.update(dict.fromkeys(row.cells))
    wanted = [*columns.arm, columns.seed, columns.epoch, *columns.metrics.values()]
    for name in wanted:
        if name is not None and name not in there:
            raise RecordedError(
                f"{rows[0].file.name} has no column {name!r}; it has {', '.join(there)}."
            )


def _add(
    runs: dict[int, RecordedRun], seed: int, row: Row, columns: Columns, rows: Sequence[Row]
) -> str:
    """Add a row to the run of its seed; return what is wrong with it, or nothing."""
    run = runs.get(seed)
    if run is not None and columns.epoch is None:
        return _twice(run, row, seed, columns, rows)
    if run is None:
        run = runs[seed] = RecordedRun(row.place, row.file)
    epoch = None
    if columns.epoch is not None:
        epoch = whole(row.cells.get(columns.epoch))
    for metric, column in columns.metrics.items():
        cell = row.cells.get(column)
        if is_empty(cell):
            continue
        try:
            value = number(cell)
        except ValueError:
            return f"{column} is {cell!r} in {row.where}, which is no number."
        if isinstance(value, list) != (metric in columns.listed):
            is_one = "is declared as a list and is one number"
            is_list = "is a list: declare its metric with listed=True"
            return f"{column} in {row.where} {is_one if metric in columns.listed else is_list}."
        if columns.epoch is None:
            run.measures[metric] = value
            continue
        if epoch is None:
            there = row.cells.get(columns.epoch)
            return f"{columns.epoch} is {there!r} in {row.where}, which is no whole number."
        curve = run.curves.setdefault(metric, {})
        if epoch in curve:
            return (
                f"Seed {seed} has two values of {column} at {columns.epoch} {epoch}, the second in"
                f" {row.where}: two runs share a seed, or another column counts the steps."
            )
        curve[epoch] = value
    return ""


def _twice(run: RecordedRun, row: Row, seed: int, columns: Columns, rows: Sequence[Row]) -> str:
    """Say that two rows are of one arm and seed, and what tells them apart, if anything does."""
    told = {*columns.arm, columns.seed, *columns.metrics.values()}
    first = next(each for each in rows if each.place == run.place and each.file == run.file)
    apart = [
        name
        for name in row.cells
        if name not in told and first.cells.get(name) != row.cells.get(name)
    ]
    both = f"{run.where} and {row.place}" + (f" of {row.file.name}" * (row.file != run.file))
    if apart:
        return (
            f"Seed {seed} is there twice, in {both}, which differ in {', '.join(apart)}: name what"
            " tells arms apart in arm=[…], or what counts epochs in epoch=."
        )
    return f"Seed {seed} is there twice, in {both}: remove one, or give it its own seed."


def _end(run: RecordedRun) -> None:
    """Take what a run ended with from its curves."""
    for metric, curve in run.curves.items():
        run.measures[metric] = curve[max(curve)]


def listed(seeds: Iterable[int]) -> str:
    """Return seeds as text, consecutive ones as a range.

    >>> listed([42, 1, 2, 3, 7])
    '1–3, 7, 42'
    """
    ordered = sorted(seeds)
    ends = [i for i, (a, b) in enumerate(pairwise(ordered)) if b != a + 1]
    parts = []
    begin = 0
    for end in [*ends, len(ordered) - 1]:
        first, last = ordered[begin], ordered[end]
        parts.append(
            f"{first}–{last}" if last > first + 1 else ", ".join(map(str, ordered[begin : end + 1]))
        )
        begin = end + 1
    return ", ".join(parts)
