"""The runs of a table, a folder or an export, by arm: what `judge` and `decide` read."""

from __future__ import annotations

import argparse
import itertools
import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from repro.recorded.rows import READERS, RUN, RecordedError, Row, rows_of
from repro.recorded.runs import (
    Chosen,
    Columns,
    RecordedArmRuns,
    RecordedRun,
    is_empty,
    is_number,
    runs_of,
    setting,
    whole,
    word_for,
)

EPOCHS = ("step", "_step", "global_step", "trainer/global_step", "iteration", "iter", "epoch")
"""Columns that count the rows of a run, if none is named, in any case; the finest first."""

AS_RECORDED = "as-recorded"
"""With this value of `--ends`, runs may end at different steps."""

NAMES = ("id", "name", "run", "run_name", "uuid")
"""Columns that name the runs of a table with a row for each."""

IN_ORDER = "the order of rows"
"""Counts the rows of runs without a column for it."""

ONLY = "all runs"
"""The name of the only arm, where no column tells arms apart."""

_SEEDED = re.compile(r"(?<=.)[-_. ]s(?:eed)?[-_=]?\d+$")
"""The end of a run's name that is its seed, as in `muon_s1` and `muon-seed-2`."""

_WIDE = " - "
"""Stands between the run and the metric in a column of a chart that W&B exports."""


@dataclass
class Table:
    """The rows of a file or folder, and what tells its arms and runs apart."""

    name: str
    rows: list[Row]
    known: Columns
    chosen: argparse.Namespace
    epochs: Sequence[str | None] = (None,)
    """The columns that may count the rows of a run; that of `known` is the first."""
    _runs: dict[str, dict[Chosen, RecordedArmRuns]] = field(default_factory=dict)

    @property
    def metrics(self) -> list[str]:
        """The columns with numbers, which can be compared."""
        known = {*self.known.arm, self.known.seed, self.known.epoch, RUN}
        names: dict[str, bool] = {}
        for row in self.rows:
            for name, cell in row.cells.items():
                if name not in known and name.lower() not in EPOCHS and not is_empty(cell):
                    names[name] = names.get(name, True) and is_number(cell)
        return [name for name, numbers in names.items() if numbers]

    @cached_property
    def arms(self) -> dict[str, Chosen]:
        """The settings of each arm, by those in which arms differ."""
        arms = list(runs_of(self.rows, self.known))
        apart = [name for name in self.known.arm if len({dict(arm)[name] for arm in arms}) > 1]
        named = apart or self.known.arm
        return {", ".join(str(dict(arm)[x]) for x in named) or ONLY: arm for arm in arms}

    @property
    def mixed(self) -> str:
        """Say that what counts as one arm may be several; empty where nothing says so."""
        if self.arms.keys() != {ONLY} or self.chosen.where:
            return ""
        known = {self.known.seed, RUN, *self.rows[0].cells.keys() & {*NAMES, *EPOCHS}}
        for name in self.rows[0].cells:
            cells = [str(row.cells.get(name)) for row in self.rows]
            if (
                name not in known
                and not any(map(is_number, cells))
                and 1 < len({*cells}) < len(cells)
            ):
                return (
                    f"all {len(cells)} rows count as one arm, and {name} differs among them:"
                    f" --arm {name} tells arms apart"
                )
        files = {_SEEDED.sub("", Path(row.file.name).stem) for row in self.rows}
        if 1 < len(files) < len({row.file.name for row in self.rows}):
            return f"all files count as one arm, {listed(sorted(files))}: give each arm a folder"
        return ""

    def arm(self, name: str) -> str:
        """Return the name of an arm; raises `RecordedError` where there is none of that name."""
        if name in self.arms:
            return name
        raise RecordedError(f"{self.name} has no arm {name!r}; it has {listed(self.arms)}.")

    @cached_property
    def word(self) -> str:
        """The word for what its samples count, seeds or runs."""
        arms = runs_of(self.rows, self.known).values()
        return word_for(self.known.seed, (run for arm in arms for run in arm.runs.values()))

    def values(self, arm: str, metric: str) -> dict[Any, float]:
        """Return the value of each run of an arm, by its seed or name; raises `RecordedError`."""
        if not any(metric in row.cells for row in self.rows):
            there = listed(self.metrics)
            raise RecordedError(f"{self.name} has no column {metric!r}; it has {there}.")
        found = self._of_metric(metric)[self.arms[arm]]
        if found.wrong:
            raise RecordedError(found.wrong)
        values = {seed: self._value(run, metric) for seed, run in found.runs.items()}
        _require_one_unit(metric, found.runs, values)
        return {found.runs[seed].name or seed: value for seed, value in values.items()}

    def _of_metric(self, metric: str) -> dict[Chosen, RecordedArmRuns]:
        """Return the runs of all arms, by the first column of steps that counts all their rows."""
        if metric not in self._runs:
            read = []
            for epoch in self.epochs:
                known = replace(self.known, metrics={metric: metric}, epoch=epoch)
                read.append(runs_of(self.rows, known))
                if not any(of_arm.wrong for of_arm in read[-1].values()):
                    break
            sound = (x for x in read if not any(of_arm.wrong for of_arm in x.values()))
            self._runs[metric] = next(sound, read[0])
        return self._runs[metric]

    def curves(self, arm: str, metric: str) -> Iterator[tuple[int, int, str]]:
        """Yield the last step and the number of rows of each run of an arm, and its name.

        A run that ends without a finite value has diverged, and may end early.
        """
        for seed, run in self._of_metric(metric)[self.arms[arm]].runs.items():
            curve = run.curves.get(metric)
            if curve and run.measures[metric] is not None:
                name = "a run" if arm == ONLY else f"a run of {arm}"
                yield max(curve), len(curve), f"{name} ({run.name or f'{self.word[:-1]} {seed}'})"

    def _value(self, run: RecordedRun, metric: str) -> float:
        """Return the value of a run; of a curve, its last one or what is chosen instead."""
        if metric not in run.measures:
            raise RecordedError(run.last.wrong(metric, "is empty; give the run its value"))
        best, last, instead = self.chosen.best, self.chosen.last, self.chosen.diverged
        if metric in run.not_finite and instead is None:
            why = "is not finite; say what it counts as, with --diverged NUMBER"
            raise RecordedError(run.not_finite[metric].wrong(metric, why))
        curve = sorted(run.curves.get(metric, {0: run.measures[metric]}).items())
        values = [x if isinstance(x, float) else float(instead) for _, x in curve]
        if best is not None:
            return min(values) if best == "lowest" else max(values)
        return statistics.fmean(values[-(last or 1) :])


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a table is read.

    >>> add_reading(argparse.ArgumentParser())
    """
    add: Callable[..., Any] = parser.add_argument
    add("--seed", metavar="COLUMN", help="the column that numbers the runs (seed, if there is one)")
    add(
        "--where",
        metavar="COLUMN=VALUE",
        action="append",
        default=[],
        help="only rows with this value; once for each column",
    )
    add("--epoch", metavar="COLUMN", help="the column that counts the rows of a run")
    add("--ends", choices=("alike", AS_RECORDED), help="as-recorded: runs may end at other steps")
    reduced = parser.add_mutually_exclusive_group()
    reduced.add_argument(
        "--last", metavar="K", type=int, help="of a curve, the mean of its K last rows"
    )
    reduced.add_argument(
        "--best", choices=("lowest", "highest"), help="of a curve, its lowest or highest value"
    )
    add(
        "--diverged",
        metavar="NUMBER",
        type=float,
        help="the value of runs that have no finite one",
    )
    add("--paired", action="store_true", help="one seed is the same start and data in every arm")
    add("--level", metavar="P", type=float, help="the chance of a false verdict in one direction")
    add("--spread", choices=("own", "same"), default="own", help="same: all arms have one spread")
    add("--json", action="store_true", help="one line of JSON for each answer")


def read(path: str, chosen: argparse.Namespace, *, arm: Sequence[str] | None) -> Table:
    """Return the runs of a file or a folder; raises `RecordedError`.

    `arm` names the columns that tell arms apart; with None all runs are of one arm.
    """
    if chosen.last is not None and chosen.last < 1:
        raise RecordedError(f"--last {chosen.last} takes no row of a curve: give 1 or more.")
    rows = _selected(_rows(path, wide=arm is not None and not arm), chosen.where, path)
    first = rows[0].cells
    by_folder = arm is not None and not arm and "arm" in first
    columns = ("arm",) if by_folder else tuple(dict.fromkeys(arm or ()))
    for name in (*columns, chosen.seed, chosen.epoch):
        if name is not None and not any(name in row.cells for row in rows):
            raise RecordedError(f"{path} has no column {name!r}; it has {listed(first)}.")
    seeds = (name for name in first if name.lower() == "seed" and name not in columns)
    seed = chosen.seed or next(seeds, None)
    if chosen.paired and seed is None:
        raise RecordedError(
            f"{path} has no column of seeds: name it for --paired, as in --seed seed."
        )
    epochs = _epochs(rows, chosen, columns, seed)
    by_value = epochs[0] is not None and _counts(rows, epochs[0])
    if epochs[0] is not None and not by_value and epochs[0] != IN_ORDER:
        rows = sorted(rows, key=lambda row: _place(row.cells.get(epochs[0] or "")))
    known = Columns(columns, seed, epochs[0], {}, in_order=not by_value)
    return Table(path, rows, known, chosen, epochs if by_value else epochs[:1])


def _epochs(
    rows: Sequence[Row], chosen: argparse.Namespace, columns: Sequence[str], seed: str | None
) -> list[str | None]:
    """Return the columns that may count the rows of a run; raises `RecordedError`."""
    if chosen.epoch is not None:
        return [chosen.epoch]
    first = rows[0].cells
    there = {name.lower(): name for name in first if name not in (*columns, seed)}
    steps = [there[name] for name in EPOCHS if name in there]
    if seed or RUN in first or len({row.file.name for row in rows}) > 1:
        counting = [name for name in steps if _counts(rows, name)]
        if steps:
            return [*(counting or steps[:1])]
    elif steps and (at := _as_logged(rows, steps[0], columns)):
        name = next((x for x in first if x.lower() in NAMES), "trial")
        raise RecordedError(
            f"{rows[0].file.name} has rows at {steps[0]} {at}, and no column says which rows are"
            f" one run: name it, as in --seed {name}, or give each run a file in a folder. (Where"
            f" each row is a run, leave {steps[0]} out.)"
        )
    return [IN_ORDER if chosen.last or chosen.best else None]


def _counts(rows: Iterable[Row], column: str) -> bool:
    """Return whether all cells of a column are whole numbers."""
    return all(whole(row.cells.get(column)) is not None for row in rows)


def _place(cell: object) -> float:
    """Return the place of a row by a column of fractions, such as epochs; rows without one last."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.inf


def _as_logged(rows: Sequence[Row], column: str, columns: Sequence[str]) -> str:
    """Return two values of a column that count the rows of a run; empty where each row is a run.

    A table of runs may say at which step each has ended. Then these are in no order, or the runs
    have names.
    """
    names = [row.cells.get(name) for row in rows for name in row.cells if name.lower() in NAMES]
    if len(names) == len(set(names)) == len(rows):
        return ""
    found: dict[tuple[object, ...], list[object]] = {}
    for row in rows:
        arm = tuple(row.cells.get(name) for name in columns)
        found.setdefault(arm, []).append(row.cells.get(column))
    for cells in found.values():
        places = list(map(_place, cells))
        rises = {a < b for a, b in itertools.pairwise(places)}
        if len(set(places)) > 1 and (len(set(places)) < len(places) or len(rises) == 1):
            return f"{cells[0]} and {next(x for x in cells if x != cells[0])}"
    return ""


def require_same_ends(sides: Iterable[tuple[Table, str]], metric: str) -> None:
    """Raise `RecordedError` where runs end at different steps, unless that is asked for.

    Runs of one row each are no curves: they may say at which step they were best.
    """
    ends: dict[int, str] = {}
    are_curves = False
    for table, arm in sides:
        if table.chosen.ends == AS_RECORDED:
            return
        for end, rows, name in table.curves(arm, metric):
            ends.setdefault(end, name)
            are_curves |= rows > 1 or table.chosen.epoch is not None
    if are_curves and len(ends) > 1:
        first, last = min(ends), max(ends)
        raise RecordedError(
            f"{metric} of {ends[first]} ends at {first}, and of {ends[last]} at {last}: complete"
            f" what was cut off, or say --ends {AS_RECORDED} where that is meant, as with early"
            " stopping."
        )


def _rows(path: str, *, wide: bool) -> list[Row]:
    """Return all rows; those of a folder have its inner folders' name as their arm."""
    given, here = Path(path), Path.cwd()
    if not given.is_dir():
        rows = rows_of(path, folder=here, read=None, columns=None, metrics=[])
        is_export = wide and any(_WIDE in name for name in rows[0].cells)
        return _unfolded(rows) if is_export else rows
    files = sorted(x for x in given.rglob("*") if x.suffix.lower() in READERS and x.is_file())
    if not files:
        raise RecordedError(f"{path} has no file that can be read: {', '.join(READERS)}.")
    rows = []
    for file in files:
        parts = file.relative_to(given).parts
        arm = parts[0] if len(parts) > 1 else None
        for row in rows_of(str(file), folder=here, read=None, columns=None, metrics=[]):
            cells = row.cells if arm is None else {"arm": arm, **row.cells}
            rows.append(Row(cells, row.file, row.place))
    return rows


def _unfolded(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of a chart of W&B: a row for each run, whose metric is in one column.

    A column is called `RUN - METRIC`, beside its `__MIN` and `__MAX`. The name of a run without the
    seed at its end is that of its arm.
    """
    found: list[Row] = []
    for row in rows:
        steps = {name: cell for name, cell in row.cells.items() if _WIDE not in name}
        for name, cell in row.cells.items():
            run, _, metric = name.partition(_WIDE)
            if metric and not metric.endswith(("__MIN", "__MAX")) and not is_empty(cell):
                arm = _SEEDED.sub("", run)
                found.append(
                    Row({"arm": arm, RUN: run, **steps, metric: cell}, row.file, row.place)
                )
    return found


def _selected(rows: list[Row], where: Sequence[str], path: str) -> list[Row]:
    for each in where:
        name, equals, value = each.partition("=")
        if not equals:
            raise RecordedError(f"--where {each!r} has no value: write --where COLUMN=VALUE.")
        if not any(name in row.cells for row in rows):
            raise RecordedError(f"{path} has no column {name!r}; it has {listed(rows[0].cells)}.")
        kept = [row for row in rows if setting(row.cells.get(name)) == setting(value)]
        if not kept:
            there = dict.fromkeys(str(row.cells.get(name)) for row in rows)
            raise RecordedError(f"No row of {path} has {each}; {name} is {listed(there)}.")
        rows = kept
    return rows


def _require_one_unit(
    metric: str, runs: Mapping[int, RecordedRun], values: Mapping[int, float]
) -> None:
    """Raise `RecordedError` where one run has per cent and the others have shares."""
    shares = [value for value in values.values() if 0 <= value <= 1]
    if not shares or len(shares) < len(values) / 2:
        return
    usual = statistics.median(shares)
    for seed, value in values.items():
        if 1 < value <= 100 and usual / 2 < value / 100 < 2 * usual:
            why = (
                f"looks like per cent, where other runs have shares near {usual:.3g}; give one unit"
            )
            raise RecordedError(runs[seed].last.wrong(metric, why))


def listed(names: Iterable[object]) -> str:
    """Return names as text, at most twelve of them.

    >>> listed(range(14))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more'
    """
    every = [str(name) for name in names if name != RUN]
    more = f" and {len(every) - 12} more" if len(every) > 12 else ""
    return ", ".join(every[:12]) + more if every else "none"
