"""The data that runs read: sent by content, once a node, and laid out there as it is here.

The process that asks puts each file of the sets that its runs name into the cluster, in pieces. The
first batch on a node that needs a file writes it into the user's cache there, under its hash; all
others find it. Twins travel with the code.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from repro.arm import Arm
from repro.backends.data_files import files_read_by
from repro.data.disk import locked
from repro.data.inventory import sha256_of
from repro.data.locate import DataError, user_cache
from repro.files import beside

PIECE_BYTES = 2**26


@dataclass(frozen=True)
class DataFile:
    """A file of a set, and where in the cluster its pieces are."""

    place: str
    """Below the data folder."""

    sha256: str
    pieces: tuple[Any, ...]


DataFiles = tuple[DataFile, ...]


class Uploader:
    """Puts each file into the cluster once, when a run first needs it."""

    def __init__(self) -> None:
        self._files: dict[Path, DataFile] = {}
        self._of_arm: dict[Arm, DataFiles] = {}

    def files_of(self, arm: Arm) -> DataFiles:
        """Return the files of the real sets that an arm's runs read, as far as they are here."""
        if arm not in self._of_arm:
            files = files_read_by(arm)
            self._of_arm[arm] = tuple(self._file(place, path) for place, path in files.items())
        return self._of_arm[arm]

    def _file(self, place: str, path: Path) -> DataFile:
        if path not in self._files:
            self._files[path] = DataFile(place, sha256_of(path), tuple(map(ray.put, _pieces(path))))
        return self._files[path]


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def lay_out(files: DataFiles) -> None:
    """Lay these files out on a node, and let this process find no other data."""
    listing = hashlib.sha256("".join(f"{i.sha256} {i.place}\n" for i in files).encode())
    root = user_cache() / "cluster"
    folder = root / "data" / listing.hexdigest()
    for item in files:
        place = folder / item.place
        if not place.exists():
            content = _content(root / "files" / item.sha256, item)
            place.parent.mkdir(parents=True, exist_ok=True)
            with beside(place) as fresh:
                os.link(content, fresh)
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["REPRO_DATA"] = str(folder)


def _content(path: Path, item: DataFile) -> Path:
    """Return the file of that content, fetched by the first process of the node that needs it."""
    with locked(path.with_suffix(".lock"), waiting=lambda: None):
        if not path.exists():
            with beside(path) as fresh:
                with fresh.open("wb") as file:
                    for piece in item.pieces:
                        file.write(ray.get(piece))
                if sha256_of(fresh) != item.sha256:
                    raise DataError(f"{item.place} changed on its way to this node; run it again.")
    return path
