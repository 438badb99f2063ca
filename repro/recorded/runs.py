"""Makes runs from rows: one for each arm and seed, with its measures and curves."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from repro.arm import Metric
from repro.judge.scale import Array
from repro.recorded.rows import RUN, RecordedError, Row

Setting = str | int | float
Number = float | list[float | None] | None
"""A measure of a run: a number, a list of numbers, or None for a missing or infinite one."""

Chosen = tuple[tuple[str, Setting], ...]
"""The settings of an arm: pairs of a column and its value."""

FEW_DIGITS = 7
"""With more digits after the point, values are not taken for rounded ones."""

_DECIMAL = re.compile(r"\d+\.\d+")

LARGEST = 1e100
"""Larger numbers have no variance that a computer can hold."""

WORDS = ("true", "false", "none")
"""Settings that are constants of Python, in any case."""


@dataclass(frozen=True)
class Columns:
    """The meaning of the columns of a table."""

    arm: tuple[str, ...]
    seed: str | None
    """None if runs have no seeds; then they are numbered in the order of their rows, or files."""
    epoch: str | None
    """The column that counts epochs or steps, if a run has a row for each."""
    metrics: Mapping[str, str]
    """The column of each metric."""
    listed: frozenset[str] = frozenset()
    """The list metrics."""
    in_order: bool = False
    """True where the rows of a run are in its order, whatever `epoch` counts."""

    @property
    def read(self) -> list[str]:
        """The columns that are read."""
        epoch = None if self.in_order else self.epoch
        others = [name for name in (self.seed, epoch) if name is not None]
        return [*self.arm, *others, *self.metrics.values()]

    def has_value(self, row: Row) -> bool:
        """Return whether a row has a value of a metric."""
        return not all(is_empty(row.cells.get(name)) for name in self.metrics.values())

    def is_empty(self, row: Row) -> bool:
        """Return whether a row is that of a run without any cell that is read."""
        return RUN in row.cells and all(is_empty(row.cells.get(name)) for name in self.read)


@dataclass
class RecordedRun:
    """One recorded run."""

    first: Row
    """Its first row, which may be the only one."""
    last: Row
    name: str = ""
    """Its name, where runs have names and no numbers."""
    measures: dict[str, Number] = field(default_factory=dict)
    """Its last values; None for a value that is not finite. An empty cell gives no entry."""
    curves: dict[str, dict[int, Number]] = field(default_factory=dict)
    """The values of each metric by epoch or step."""
    not_finite: dict[str, Row] = field(default_factory=dict)
    """The first row of each metric with a value that is not finite."""


@dataclass
class RecordedArmRuns:
    """The runs of one arm by seed; `wrong` says why they cannot be used, if so."""

    runs: dict[int, RecordedRun] = field(default_factory=dict)
    wrong: str = ""
    again: dict[int, list[Row]] = field(default_factory=dict)
    """The rows of runs that logged nothing, by their seed, if another run of it did."""

    def epochs(self, metric: str) -> list[int]:
        """Return the epochs of a metric in the longest run.

        Raises `RecordedError` where a run has a gap; a curve may only end early.
        """
        curves = {seed: run.curves.get(metric, {}) for seed, run in self.runs.items()}
        every = sorted(set().union(*curves.values()))
        for seed, curve in curves.items():
            known = sorted(curve)
            if known != every[: len(known)]:
                gap = next(epoch for epoch in every if epoch not in curve)
                raise RecordedError(
                    f"Seed {seed} ({self.runs[seed].first.where}) has no {metric} at {gap}, where"
                    " other seeds have one and it goes on: curves are compared at the same epochs."
                )
        return every


def runs_of(rows: Sequence[Row], columns: Columns) -> dict[Chosen, RecordedArmRuns]:
    """Return the runs of each arm, in the order of the rows; raises `RecordedError`.

    A bad row makes only its own arm unusable.
    """
    _require_columns(rows, columns)
    arms: dict[Chosen, RecordedArmRuns] = {}
    known: dict[tuple[object, ...], Chosen] = {}
    logged = {row.cells.get(RUN) for row in rows if columns.has_value(row)}
    silent: list[tuple[RecordedArmRuns, Row]] = []
    names = _named_runs(rows, columns.seed)
    spelled: dict[tuple[str, Setting], Row] = {}
    for row in rows:
        texts = tuple(row.cells.get(name) for name in columns.arm)
        if texts not in known:
            named = zip(columns.arm, texts, strict=True)
            known[texts] = tuple((name, setting(text)) for name, text in named)
            _require_one_spelling(row, known[texts], spelled)
        of_arm = arms.setdefault(known[texts], RecordedArmRuns())
        if not of_arm.wrong:
            of_arm.wrong = _add(of_arm.runs, row, columns, names)
        if RUN in row.cells and row.cells[RUN] not in logged:
            silent.append((of_arm, row))
    for of_arm, row in silent:
        seed = _number_of(row, of_arm.runs, columns, names) if columns.seed else None
        if seed in of_arm.runs and (of_arm.runs[seed].curves or of_arm.runs[seed].measures):
            of_arm.again.setdefault(seed, []).append(row)
    for of_arm in arms.values():
        for run in of_arm.runs.values():
            for metric, curve in run.curves.items():
                run.measures[metric] = curve[max(curve)]
    return arms


def _require_one_spelling(
    row: Row, chosen: Chosen, spelled: dict[tuple[str, Setting], Row]
) -> None:
    """Raise `RecordedError` where decimals that differ are one number, such as 1.1 and 1.10.

    They may be versions. Texts such as 1e-1 and 0.1 are one setting.
    """
    for name, value in chosen:
        other = spelled.setdefault((name, value), row)
        texts = [str(each.cells.get(name)).strip() for each in (other, row)]
        if texts[0] != texts[1] and all(_DECIMAL.fullmatch(text) for text in texts):
            raise RecordedError(
                f"{name} is {texts[0]} in {other.where} and {texts[1]} in {row.where}, which is one"
                " number: write it alike, or with a letter where these are versions."
            )


def _require_columns(rows: Sequence[Row], columns: Columns) -> None:
    there: dict[str, None] = {}
    for row in rows:
        if not row.cells.keys() <= there.keys():
            there |= dict.fromkeys(row.cells)
    for name in columns.read:
        if name not in there:
            raise RecordedError(
                f"{rows[0].file.name} has no column {name!r}; it has {', '.join(there)}."
            )


def _named_runs(rows: Iterable[Row], column: str | None) -> dict[str, int]:
    """Return a number for each name of a run; empty where a cell of the column is no name."""
    cells = {row.cells.get(column): None for row in rows} if column else {}
    is_named = all(isinstance(x, str) and not (is_empty(x) or is_number(x)) for x in cells)
    return {str(name): n for n, name in enumerate(cells, 1)} if is_named else {}


def word_for(column: str | None, runs: Iterable[RecordedRun]) -> str:
    """Return the word for what is counted: seeds, or runs where these have a name or nothing."""
    return "runs" if not column or any(run.name for run in runs) else "seeds"


def _add(runs: dict[int, RecordedRun], row: Row, columns: Columns, names: Mapping[str, int]) -> str:
    """Add a row to the run of its seed; return what is wrong with the row, or an empty text."""
    seed = _number_of(row, runs, columns, names)
    if seed is None:
        why = "is no whole number; number all runs, or give names to all of them"
        return row.wrong(columns.seed or "", why)
    name = str(row.cells[columns.seed]) if columns.seed and names else ""
    if columns.epoch is None and seed in runs:
        return _twice(runs[seed], row, f"Run {name}" if name else f"Seed {seed}", columns)
    run = runs.setdefault(seed, RecordedRun(row, row, name))
    run.last = row
    for metric, column in columns.metrics.items():
        cell = row.cells.get(column)
        if is_empty(cell):
            continue
        try:
            value = number(cell)
        except ValueError:
            return row.wrong(column, "is no number")
        if isinstance(value, list) != (metric in columns.listed):
            is_one = "is declared as a list and is one number"
            is_list = "is a list; give one number, or declare its metric with listed=True"
            return row.wrong(column, is_one if metric in columns.listed else is_list)
        if any(abs(x) > LARGEST for x in (value if isinstance(value, list) else [value]) if x):
            return row.wrong(column, f"is beyond {LARGEST:g}; give it in another unit")
        if value is None:
            run.not_finite.setdefault(metric, row)
        if columns.epoch is None:
            run.measures[metric] = value
            continue
        curve = run.curves.setdefault(metric, {})
        epoch = len(curve) if columns.in_order else whole(row.cells.get(columns.epoch))
        if epoch is None:
            return row.wrong(columns.epoch, "is no whole number")
        if epoch in curve:
            return row.wrong(
                column,
                f"is a second value of {f'run {name}' if name else f'seed {seed}'} at"
                f" {columns.epoch} {epoch}; two runs share a seed, or another column counts the"
                " steps",
            )
        curve[epoch] = value
    return ""


def _number_of(
    row: Row, runs: Mapping[int, RecordedRun], columns: Columns, names: Mapping[str, int]
) -> int | None:
    """Return the seed of a row, or the number of its run; None where its cell is no seed.

    Without a column of seeds, the run is its file where it has a row for each epoch.
    """
    if columns.seed is not None:
        cell = row.cells.get(columns.seed)
        return names[str(cell)] if names else whole(cell)
    if columns.epoch is None:
        return len(runs) + 1
    own = row.cells.get(RUN, row.file.name)
    known = (n for n, run in runs.items() if run.first.cells.get(RUN, run.first.file.name) == own)
    return next(known, len(runs) + 1)


def _twice(run: RecordedRun, row: Row, which: str, columns: Columns) -> str:
    """Say that two rows have one arm and seed, and name the columns in which they differ."""
    told = {*columns.arm, columns.seed, *columns.metrics.values()}
    first = run.first
    apart = [
        name
        for name in row.cells
        if name not in told and first.cells.get(name) != row.cells.get(name)
    ]
    both = f"{which} is there twice, in {first.where} and {row.where}"
    if apart:
        return (
            f"{both}, which differ in {', '.join(apart)}: name what tells arms apart (arm), or what"
            " counts the rows of a run (epoch)."
        )
    return f"{both}: remove one, or give it its own seed."


def setting(cell: object) -> Setting:
    """Return a setting in one form, whether it comes from text or from Python.

    >>> setting("64"), setting("1e-1"), setting("007"), setting(True), setting("True")
    (64, 0.1, '007', 'true', 'true')
    """
    if isinstance(cell, bool) or cell is None:
        return str(cell).lower()
    if isinstance(cell, int):
        return cell
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else cell
    text = str(cell).strip()
    if text.lower() in WORDS:
        return text.lower()
    if text[:1] not in "+-.0123456789" or (text[:1] == "0" and text[1:2].isdigit()):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number) or "_" in text:
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def whole(cell: object) -> int | None:
    """Return a seed, an epoch or a step as a whole number; None if it is no whole number.

    >>> whole("3"), whole(3.0), whole("3.5"), whole("--3"), whole("")
    (3, 3, None, None, None)
    """
    if isinstance(cell, str) and cell.removeprefix("-").isdecimal():
        return int(cell)
    try:
        number = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else None


def is_empty(cell: object) -> bool:
    """Return whether a cell is empty; `nan` is not empty."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def number(cell: object) -> Number:
    """Return a measure; None if it is not finite. Raises ValueError if it is no number.

    >>> number("0.5"), number("nan"), number([1, 2])
    (0.5, None, [1.0, 2.0])
    """
    if isinstance(cell, list | tuple):
        return [_finite(each) for each in cell]
    return _finite(cell)


def is_number(cell: object) -> bool:
    """Return whether a cell is one number.

    >>> is_number("0.5"), is_number("nan"), is_number("high"), is_number([1, 2])
    (True, True, False, False)
    """
    try:
        return not isinstance(number(cell), list)
    except ValueError:
        return False


def _finite(cell: object) -> float | None:
    if cell is None:
        return None
    if isinstance(cell, bool):
        raise ValueError(cell)
    try:
        value = float(cell)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(cell) from None
    return value if math.isfinite(value) else None


def steps_of(on: Metric, samples: Iterable[Sequence[float] | Array]) -> int | None:
    """Return in how many steps rounded values move from 0 to 1, if all of some arm are equal.

    Such an arm has a spread that its digits do not show.

    >>> steps_of(Metric("identity"), [[72.1, 72.1], [72.3, 72.2]])
    10
    """
    several = [sample for sample in samples if len(sample) > 1]
    if on.scale != "identity" or on.exact or all(min(x) < max(x) for x in several):
        return None
    texts = [np.format_float_positional(x, trim="-") for sample in several for x in sample]
    digits = max(len(text.partition(".")[2]) for text in texts)
    return 10**digits if digits <= FEW_DIGITS else None


def ranges(seeds: Iterable[int]) -> str:
    """Return seeds as text; more than two consecutive seeds become a range.

    >>> ranges([42, 1, 2, 3, 7])
    '1–3, 7, 42'
    """
    rows: list[list[int]] = []
    for seed in sorted(seeds):
        if rows and seed == rows[-1][-1] + 1:
            rows[-1].append(seed)
        else:
            rows.append([seed])
    return ", ".join(
        f"{row[0]}–{row[-1]}" if len(row) > 2 else ", ".join(map(str, row)) for row in rows
    )
