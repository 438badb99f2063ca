"""The runs of a table, a folder or an export, by arm: what `judge` and `decide` read."""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro.recorded.rows import READERS, RUN, RecordedError, Row, rows_of
from repro.recorded.runs import (
    NO_NUMBER,
    Columns,
    RecordedRun,
    is_empty,
    is_number,
    named_runs,
    number,
    number_of,
    setting,
    word_for,
)

EPOCHS = ("epoch", "step", "_step", "Step")
"""Columns that count the rows of a run, if none is named."""

ONLY = "all runs"
"""The name of the only arm, where no column tells arms apart."""

_SEEDED = re.compile(r"(?<=.)[-_. ]s(?:eed)?[-_=]?\d+$")
"""The end of a run's name that is its seed, as in `muon_s1` and `muon-seed-2`."""

_WIDE = " - "
"""Stands between the run and the metric in a column of a chart that W&B exports."""


@dataclass
class OneRun(RecordedRun):
    """One run: its rows in their order; more than one is a curve."""

    arm: str = ONLY
    rows: list[Row] = field(default_factory=list)


@dataclass
class Table:
    """The runs of a file or folder, by the name of their arm and by seed."""

    name: str
    arms: dict[str, dict[int, OneRun]]
    chosen: argparse.Namespace
    epoch: str | None

    @property
    def columns(self) -> list[str]:
        """The columns with numbers, which can be compared."""
        known = {*self.chosen.arm, self.chosen.seed, self.epoch, RUN, *EPOCHS}
        names: dict[str, bool] = {}
        for run in self.runs:
            for row in run.rows:
                for name, cell in row.cells.items():
                    if name not in known and not is_empty(cell):
                        names[name] = names.get(name, True) and is_number(cell)
        return [name for name, numbers in names.items() if numbers]

    @property
    def runs(self) -> list[OneRun]:
        return [run for of_arm in self.arms.values() for run in of_arm.values()]

    def arm(self, name: str) -> str:
        """Return the name of an arm; raises `RecordedError` where there is none of that name."""
        if name in self.arms:
            return name
        raise RecordedError(f"{self.name} has no arm {name!r}; it has {listed(self.arms)}.")

    @property
    def word(self) -> str:
        """The word for what its samples count, seeds or runs."""
        return word_for(self.chosen.seed, self.runs)

    def values(self, arm: str, metric: str) -> dict[Any, float]:
        """Return the value of each run of an arm, by its seed or name; raises `RecordedError`."""
        found = {seed: self._value(run, metric) for seed, run in self.arms[arm].items()}
        _require_one_unit(metric, self.arms[arm], found)
        return {self.arms[arm][seed].name or seed: value for seed, value in found.items()}

    def _value(self, run: OneRun, metric: str) -> float:
        cells = [(row, self._cell(row, metric)) for row in run.rows if self._has(row, metric)]
        if not cells:
            there = [name for name in self.columns if name != metric]
            if any(metric in row.cells for row in run.rows):
                raise RecordedError(run.rows[-1].wrong(metric, "is empty; give the run its value"))
            raise RecordedError(
                f"{run.rows[0].file.name} has no column {metric!r}; it has {listed(there)}."
            )
        if len(run.rows) > 1 and self.epoch is None:
            raise RecordedError(_twice(run, metric, self.chosen.seed))
        values = [value for _, value in cells]
        best, last = self.chosen.best, self.chosen.last
        if best is not None:
            return min(values) if best == "lowest" else max(values)
        return statistics.fmean(values[-(last or 1) :])

    def _has(self, row: Row, metric: str) -> bool:
        return metric in row.cells and not is_empty(row.cells[metric])

    def _cell(self, row: Row, metric: str) -> float:
        try:
            value = number(row.cells[metric])
        except ValueError:
            raise RecordedError(row.wrong(metric, "is no number")) from None
        if isinstance(value, list):
            raise RecordedError(row.wrong(metric, "is a list; give one number"))
        if value is None:
            if self.chosen.diverged is None:
                why = "is not finite; say what it counts as, with --diverged NUMBER"
                raise RecordedError(row.wrong(metric, why))
            return float(self.chosen.diverged)
        return value


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
    seed = chosen.seed or ("seed" if "seed" in first and "seed" not in columns else None)
    if chosen.paired and seed is None:
        raise RecordedError(
            f"{path} has no column of seeds: name it for --paired, as in --seed seed."
        )
    epoch = chosen.epoch
    if epoch is None and (seed or RUN in first or len({row.file.name for row in rows}) > 1):
        epoch = next((name for name in EPOCHS if name in first and name not in columns), None)
    if epoch is None and (chosen.last or chosen.best):
        epoch = "the order of rows"
    apart = [name for name in columns if len({row.cells.get(name) for row in rows}) > 1]
    table = Table(path, {}, chosen, epoch)
    names, known = named_runs(rows, seed), Columns(columns, seed, epoch, {})
    for row in rows:
        label = ", ".join(str(setting(row.cells.get(name))) for name in apart or columns) or ONLY
        of_arm = table.arms.setdefault(label, {})
        own = number_of(row, of_arm, known, names)
        if own is None:
            raise RecordedError(row.wrong(seed or "", NO_NUMBER))
        name = str(row.cells[seed]) if seed and names else ""
        of_arm.setdefault(own, OneRun(row, name, arm=label)).rows.append(row)
    chosen.seed = seed
    return table


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


def _twice(run: OneRun, metric: str, seed: str | None) -> str:
    first, second = run.rows[:2]
    apart = [
        name
        for name, cell in first.cells.items()
        if name != metric and second.cells.get(name) != cell
    ]
    which = f", which differ in {', '.join(apart)}" if apart else ""
    whose = "" if run.arm == ONLY else f" of {run.arm}"
    one = f"Run {run.name}" if run.name else f"Seed {first.cells.get(seed or '')}"
    return (
        f"{one}{whose} is there twice, in {first.where} and {second.where}{which}:"
        " remove one, name what tells arms apart (--arm), or what counts the rows of a run"
        " (--epoch)."
    )


def _require_one_unit(metric: str, runs: Mapping[int, OneRun], values: Mapping[int, float]) -> None:
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
            raise RecordedError(runs[seed].rows[-1].wrong(metric, why))


def listed(names: Iterable[object]) -> str:
    """Return names as text, at most twelve of them.

    >>> listed(range(14))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more'
    """
    every = [str(name) for name in names if name != RUN]
    more = f" and {len(every) - 12} more" if len(every) > 12 else ""
    return ", ".join(every[:12]) + more if every else "none"
