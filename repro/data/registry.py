"""The table of data sets: their files with hashes, licences and public addresses.

The table is in `sets.toml`. So a new mirror changes no code, and no stored run is trained again.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from repro.data.locate import DataError


@dataclass(frozen=True)
class File:
    """A file of a set; without a published hash, `bytes` and `sha256` are None."""

    name: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """A public address of some files of a set."""

    address: str
    is_archive: bool
    names: Mapping[str, str]
    """The source's names for the files that it has, by our names."""

    unpacked: int
    """The most bytes that the archive may unpack to."""


@dataclass(frozen=True)
class DataSet:
    """A published set."""

    name: str
    title: str
    licence: str
    citation: str
    folder: str
    files: tuple[File, ...]
    sources: tuple[Source, ...] = field(repr=False)
    large: bool = False
    """True for a set that is fetched only if it is named."""

    def file(self, name: str) -> File:
        """Return the file of that name."""
        return next(file for file in self.files if file.name == name)

    @property
    def sha256(self) -> str | None:
        """The hash over the set's files; None without published hashes."""
        return sum_of_sums({file.name: file.sha256 for file in self.files})


def sum_of_sums(sums: Mapping[str, str | None]) -> str | None:
    """Return one hash for files, of their sorted `sha256sum` lines; one file has its own hash.

    >>> sum_of_sums({"a": "1f", "b": None}) is None
    True
    """
    if None in sums.values():
        return None
    if len(sums) == 1:
        return next(iter(sums.values()))
    lines = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    return hashlib.sha256(lines.encode()).hexdigest()


@cache
def data_sets() -> Mapping[str, DataSet]:
    """Return every set, by name.

    >>> data_sets()["sms-spam"].files[0].bytes
    477907
    """
    table = tomllib.loads(Path(__file__).with_name("sets.toml").read_text(encoding="utf-8"))
    return {name: _set(name, entry) for name, entry in table.items()}


def find(name: str) -> DataSet:
    """Return the set of that name.

    >>> find("blimp").folder
    'blimp'
    """
    if name not in data_sets():
        raise DataError(f"There is no data set {name!r}; choose from {', '.join(data_sets())}.")
    return data_sets()[name]


def _set(name: str, entry: dict[str, Any]) -> DataSet:
    files = tuple(File(**file) for file in entry.pop("files"))
    sources = tuple(_source(source, files) for source in entry.pop("sources"))
    return DataSet(name=name, files=files, sources=sources, **entry)


def _source(entry: dict[str, Any], files: Sequence[File]) -> Source:
    published = sum(file.bytes or 0 for file in files)
    return Source(
        address=entry.get("archive") or entry["base"],
        is_archive="archive" in entry,
        names=entry.get("names") or {file.name: file.name for file in files},
        unpacked=entry.get("unpacked", 2 * published + 2**20),
    )
