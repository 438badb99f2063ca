"""Files of rows: CSV, JSON lines and Parquet. Each reader takes a path and returns its rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from repro.recorded.cells import Rows
from repro.recorded.errors import RecordedError

Read = Callable[[Path], Iterable[Mapping[str, object]]]
"""A reader: the rows of a file or a folder, each with its cells by column."""


def read_rows(path: Path, read: Read | None) -> Rows:
    """Return the rows of a file, with the place of each; `read` is asked where it is given."""
    if read is not None:
        return [(f"row {place}", row) for place, row in enumerate(read(path), 1)]
    known = READERS.get(path.suffix.lower())
    if known is None:
        raise RecordedError(
            f"{path.name} is of no kind that is read by its name ({', '.join(READERS)}): give"
            " read=, a function that takes the path and returns rows."
        )
    try:
        return known(path)
    except (UnicodeDecodeError, json.JSONDecodeError, csv.Error) as error:
        raise RecordedError(f"{path.name} cannot be read as {path.suffix}: {error}.") from None


def read_csv(path: Path) -> Rows:
    """Return the rows of a CSV file, or of one with tabs, whose first line names the columns."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        columns = next(lines, [])
        twice = {name for name in columns if columns.count(name) > 1}
        if twice:
            raise RecordedError(f"{path.name} has two columns called {min(twice)!r}; rename one.")
        rows: Rows = []
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(columns):
                raise RecordedError(
                    f"{path.name}, line {lines.line_num} has {len(cells)} cells where the first"
                    f" line names {len(columns)} columns."
                )
            rows.append((f"line {lines.line_num}", dict(zip(columns, cells, strict=True))))
    return rows


def read_json_lines(path: Path) -> Rows:
    """Return the rows of a file with one JSON object a line."""
    with path.open(encoding="utf-8-sig") as file:
        return [
            (f"line {place}", _object(json.loads(line), path, place))
            for place, line in enumerate(file, 1)
            if line.strip()
        ]


def read_json(path: Path) -> Rows:
    """Return the rows of a JSON file: one object, or a list of them."""
    content = json.loads(path.read_text(encoding="utf-8-sig"))
    rows = content if isinstance(content, list) else [content]
    return [(f"row {place}", _object(row, path, place)) for place, row in enumerate(rows, 1)]


def read_parquet(path: Path) -> Rows:
    """Return the rows of a Parquet file; needs pyarrow, the extra `parquet`."""
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise RecordedError(
            f"{path.name} needs pyarrow: pip install 'repro-claims[parquet]', or save it as CSV."
        ) from None
    rows = parquet.ParquetFile(path).read().to_pylist()
    return [(f"row {place}", row) for place, row in enumerate(rows, 1)]


def _object(value: object, path: Path, place: int) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise RecordedError(f"{path.name}, row {place} is no JSON object with names and values.")
    return value


READERS: dict[str, Callable[[Path], Rows]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".parquet": read_parquet,
}
