"""The rows of all files of a source, each with the file and the place that it stands at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro.recorded.errors import RecordedError
from repro.recorded.pattern import Pattern
from repro.recorded.read_files import Read, read_rows


@dataclass(frozen=True)
class File:
    """A file, or a folder of a logger, that rows were read from."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells by column, and where it stands."""

    cells: Mapping[str, object]
    file: File
    place: str

    @property
    def where(self) -> str:
        return f"{self.place} of {self.file.name}"


def read_table(
    path: str, *, folder: Path, read: Read | None, columns: str | None, metrics: Sequence[str]
) -> list[Row]:
    """Return the rows of the files that a path names; raises `RecordedError`.

    With `columns`, a pattern, the columns of this form are turned into rows: the fields are cells,
    and what stands below is the measure that `{metric}` names, or the only one of `metrics`.
    """
    pattern = Pattern(path)
    rows: list[Row] = []
    for each, fields in pattern.paths_in(folder):
        if not each.exists():
            raise RecordedError(f"There is no file {each}.")
        file = File(
            path if not fields else each.relative_to(_start(each, folder)).as_posix(), _sha(each)
        )
        for place, cells in read_rows(each, read):
            _require_no_clash(fields, cells, file)
            rows.append(Row({**cells, **fields} if fields else cells, file, place))
    if not rows:
        raise RecordedError(
            f"No row was found in {path}"
            + (
                f", looked for in {folder}: the folders or files are named in another way."
                if pattern.names
                else "."
            )
        )
    return rows if columns is None else _melted(rows, Pattern(columns), metrics)


def _start(path: Path, folder: Path) -> Path:
    return folder if path.is_relative_to(folder) else Path(path.anchor)


def _require_no_clash(fields: Mapping[str, str], cells: Mapping[str, object], file: File) -> None:
    for name in fields.keys() & cells.keys():
        if str(cells[name]) != fields[name]:
            raise RecordedError(
                f"{file.name} says {name} {fields[name]} in its name and {cells[name]} in a"
                f" column: give the field in braces another name."
            )


def _melted(rows: Sequence[Row], pattern: Pattern, metrics: Sequence[str]) -> list[Row]:
    found = {name: fields for name in rows[0].cells if (fields := pattern.fields_of(name))}
    if not found:
        raise RecordedError(
            f"No column of {rows[0].file.name} is of the form {pattern.text!r}; it has"
            f" {', '.join(rows[0].cells)}."
        )
    names_metric = "metric" in pattern.names
    if not names_metric and len(metrics) != 1:
        raise RecordedError(
            f"columns={pattern.text!r} does not say which of {', '.join(metrics)} stands in a"
            " column: name it in the pattern as {metric}, or declare one metric."
        )
    melted: list[Row] = []
    for row in rows:
        others = {name: cell for name, cell in row.cells.items() if name not in found}
        together: dict[tuple[tuple[str, str], ...], dict[str, object]] = {}
        for name, fields in found.items():
            metric = fields["metric"] if names_metric else metrics[0]
            place = tuple((key, text) for key, text in fields.items() if key != "metric")
            together.setdefault(place, {})[metric] = row.cells[name]
        melted += [
            Row({**others, **dict(place), **cells}, row.file, row.place)
            for place, cells in together.items()
        ]
    return melted


def _sha(path: Path) -> str:
    """Return the SHA-256 of a file; of a folder, that of the names and hashes of its files."""
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.is_file())
        lines = "".join(f"{_sha(each)}  {each.relative_to(path).as_posix()}\n" for each in files)
        return hashlib.sha256(lines.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
