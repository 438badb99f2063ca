"""Reads the rows of all files of a source, each with its file and its place in it."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


class RecordedError(ValueError):
    """Recorded results cannot be used; the message says what is wrong and what to do."""


class NoFile(RecordedError):
    """No file is there that a path names."""


def require_spread(spread: str, *, paired: bool) -> None:
    """Raise `RecordedError` unless arms can have this spread, `own` or `same`."""
    if spread not in ("own", "same"):
        raise RecordedError(f'spread={spread!r} is not known: say "same", or leave it out.')
    if paired and spread == "same":
        raise RecordedError(
            "Pairs have one spread, that of their differences: leave one of both out."
        )


Read = Callable[[Path], Iterable[Mapping[str, object]]]
"""A reader: returns the rows of a file or a folder, each with its cells by column."""

Placed = Iterable[tuple[str, Mapping[str, object]]]
"""The place of each row in its file, such as `line 3`, and its cells by column."""


RUN = "run_id"
"""The column by which a reader tells the runs of a tracker apart."""


@dataclass(frozen=True)
class File:
    """A file with rows, or a folder of a logger."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells by column, its file, and its place in the file."""

    cells: Mapping[str, object]
    file: File
    place: str

    @property
    def where(self) -> str:
        return f"{self.file.name}, {self.place}"

    @property
    def said(self) -> str:
        """Its place and its cells in words."""
        cells = (f"{name} {cell}" for name, cell in self.cells.items() if name != RUN)
        return f"{self.where}: {', '.join(cells)}"

    def wrong(self, column: str, why: str) -> str:
        """Return a sentence about a wrong cell: file, row, column, and what is wrong."""
        return f"{self.where}, column {column}: {self.cells.get(column)!r} {why}."


def rows_of(
    path: str, *, folder: Path, read: Read | None, columns: str | None, metrics: Sequence[str]
) -> list[Row]:
    """Return the rows of the files that a path names; raises `RecordedError`.

    `columns` is a pattern for wide tables: each matching column becomes rows. The fields of the
    pattern become cells, and the value is that of the metric `{metric}`, or of the only metric.
    """
    pattern = Pattern(path)
    rows: list[Row] = []
    paths = list(pattern.paths_in(folder))
    for each, fields in paths:
        if not each.exists():
            raise NoFile(f"There is no file {each}.")
        start = folder if each.is_relative_to(folder) else Path(each.anchor)
        file = File(path if not fields else each.relative_to(start).as_posix(), _sha(each))
        for place, cells in _placed(each, file, read):
            row = Row({**cells, **fields} if fields else cells, file, place)
            for name in fields.keys() & cells.keys():
                if str(cells[name]) != fields[name]:
                    why = f"is {cells[name]!r} here; give the field in braces another name"
                    raise RecordedError(row.wrong(name, f"in the name of the file {why}"))
            rows.append(row)
    if not rows:
        where = f", looked for in {folder}: the folders or files are named in another way"
        kind = RecordedError if paths else NoFile
        raise kind(f"No row was found in {path}{where * bool(pattern.names)}.")
    return rows if columns is None else _melted(rows, Pattern(columns), metrics)


def _placed(path: Path, file: File, read: Read | None) -> Placed:
    """Return the rows of a file by `read`, or else by the reader for its suffix."""
    if read is not None:
        return ((f"row {number}", row) for number, row in enumerate(read(path), 1))
    known = READERS.get(path.suffix.lower())
    if known is None:
        raise RecordedError(
            f"{file.name} is of no kind that is read by its name ({', '.join(READERS)}): give"
            " read=, a function that takes the path and returns rows."
        )
    try:
        return list(known(path))
    except RecordedError:
        raise
    except (ValueError, csv.Error) as error:
        raise RecordedError(f"{file.name}, {error}.") from None


def read_csv(path: Path) -> Placed:
    """Yield the rows of a CSV or TSV file; its first line names the columns."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        columns = next(lines, [])
        other = next((name for name in (";", "\t") if len(columns) == 1 and name in columns[0]), "")
        if other:
            said = "tabs, as a file that ends in .tsv has" if other == "\t" else f"{other!r}"
            raise ValueError(f"line 1: the cells are separated by {said}, and not by commas")
        twice = [name for name in columns if columns.count(name) > 1]
        if twice:
            raise ValueError(f"line 1: two columns are called {twice[0]!r}; rename one")
        for cells in filter(None, lines):
            place = f"line {lines.line_num}"
            if len(cells) != len(columns):
                raise ValueError(f"{place}: {len(cells)} cells where line 1 names {len(columns)}")
            yield place, dict(zip(columns, cells, strict=True))


def _read_json_lines(path: Path) -> Placed:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            yield _an_object(f"line {number}", value)


def _read_json(path: Path) -> Placed:
    """Yield the rows of a JSON file: one object, or a list of them."""
    content = json.loads(path.read_text(encoding="utf-8-sig"))
    rows = content if isinstance(content, list) else [content]
    return (_an_object(f"row {number}", row) for number, row in enumerate(rows, 1))


def _an_object(place: str, value: object) -> tuple[str, Mapping[str, object]]:
    if not isinstance(value, dict):
        raise ValueError(f"{place}: no JSON object with names and values")
    return place, value


def _read_parquet(path: Path) -> Placed:
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise lacks("pyarrow", "parquet") from None
    rows = parquet.ParquetFile(path).read().to_pylist()
    return ((f"row {number}", row) for number, row in enumerate(rows, 1))


def lacks(library: str, extra: str) -> RecordedError:
    """Return the error for a missing library, with the command that installs it."""
    return RecordedError(f"This reader needs {library}: pip install 'repro-claims[{extra}]'.")


READERS: dict[str, Callable[[Path], Placed]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".json": _read_json,
    ".parquet": _read_parquet,
}


def _melted(rows: Sequence[Row], pattern: Pattern, metrics: Sequence[str]) -> list[Row]:
    names = dict.fromkeys(name for row in rows for name in row.cells)
    found = {name: fields for name in names if (fields := pattern.fields_of(name))}
    if not found:
        raise RecordedError(
            f"No column of {rows[0].file.name} is of the form {pattern.text!r}; it has"
            f" {', '.join(names)}."
        )
    if "metric" not in pattern.names and len(metrics) != 1:
        raise RecordedError(
            f"columns={pattern.text!r} does not say which of {', '.join(metrics)} stands in a"
            " column: name it in the pattern as {metric}, or declare one metric."
        )
    melted: list[Row] = []
    for row in rows:
        others = {name: cell for name, cell in row.cells.items() if name not in found}
        together: dict[tuple[tuple[str, str], ...], dict[str, object]] = {}
        for name, fields in found.items():
            if name not in row.cells:  # of another file
                continue
            metric = fields.get("metric", metrics[0])
            place = tuple((key, text) for key, text in fields.items() if key != "metric")
            together.setdefault(place, {})[metric] = row.cells[name]
        melted += [
            Row({**others, **dict(place), **cells}, row.file, row.place)
            for place, cells in together.items()
        ]
    return melted


def _sha(path: Path) -> str:
    """Return the SHA-256 of a file; for a folder, of the names and hashes of its files."""
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        lines = "".join(f"{_sha(each)}  {each.relative_to(path).as_posix()}\n" for each in files)
        return hashlib.sha256(lines.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Pattern:
    """A pattern with fields in braces, for the names of paths or columns.

    >>> Pattern("{method} - {metric}").fields_of("plain - val/acc")
    {'method': 'plain', 'metric': 'val/acc'}
    >>> Pattern("{a}/{a}-{b}.csv").fields_of("x/y-1.csv") is None  # a field stands for one text
    True
    """

    text: str

    @property
    def names(self) -> list[str]:
        return _FIELD.findall(self.text)

    def fields_of(self, other: str) -> dict[str, str] | None:
        """Return the values of the fields in a text; None if it does not match."""
        found = self._expression.fullmatch(other)
        return found.groupdict() if found else None

    def paths_in(self, folder: Path) -> Iterator[tuple[Path, dict[str, str]]]:
        """Yield the matching paths, sorted, with the values of their fields."""
        if not self.names:
            yield folder / self.text, {}
            return
        base = Path(self.text)
        start = Path(base.anchor) if base.is_absolute() else folder
        relative = (base.relative_to(base.anchor) if base.is_absolute() else base).as_posix()
        escaped = re.sub(r"([*?\[])", r"[\1]", relative)  # glob's own characters
        for path in sorted(start.glob(_FIELD.sub("*", escaped))):
            fields = Pattern(relative).fields_of(path.relative_to(start).as_posix())
            if fields is not None:
                yield path, fields

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        seen: set[str] = set()
        parts = []
        for place, part in enumerate(_FIELD.split(self.text)):
            if place % 2 == 0:
                parts.append(re.escape(part))
            elif part in seen:  # a repeated field has the same value
                parts.append(f"(?P={part})")
            else:
                seen.add(part)
                # the name of a metric may contain a slash, a part of a path may not
                parts.append(f"(?P<{part}>.+?)" if part == "metric" else f"(?P<{part}>[^/]+?)")
        return re.compile("".join(parts))
