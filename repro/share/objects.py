"""Objects by name, in a folder that many machines have mounted or in an object store.

A name has parts, divided by `/`. An object is there as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from repro.files import write_beside


class ShareError(Exception):
    """The share cannot be used now; the text goes on from "The share …"."""


class Objects(Protocol):
    """The objects of a share. Each method raises `ShareError` where it cannot be reached."""

    @property
    def name(self) -> str:
        """The place in words, without anything that is secret."""

    def names(self, folder: str) -> set[str]:
        """Return the names of the objects in a folder, however deep, without the folder's own."""

    def read(self, name: str) -> bytes | None:
        """Return an object; None where there is none."""

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return objects by name, without those that there are not; many at a time."""

    def write_all(self, contents: Mapping[str, bytes]) -> None:
        """Write objects, many at a time, in the place of those that have their names."""

    def create(self, name: str, content: bytes) -> bool:
        """Write an object; False where there is one, also where another machine writes it now."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove those of these objects that are there."""


class Folder:
    """The objects of a folder, such as one on a network disk.

    >>> Folder(folder).create("leases/one", b"mine")
    True
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = str(root)

    def names(self, folder: str) -> set[str]:
        start = self.root / folder
        with self._explained():
            self._require_root()
            return {
                os.path.relpath(os.path.join(place, name), start)
                for place, _, names in os.walk(start)
                for name in names
                if not name.endswith((".new", ".old"))  # those are being written
            }

    def read(self, name: str) -> bytes | None:
        with self._explained():
            try:
                return (self.root / name).read_bytes()
            except FileNotFoundError:
                self._require_root()
                return None

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        contents = ((name, self.read(name)) for name in names)
        return {name: content for name, content in contents if content is not None}

    def write_all(self, contents: Mapping[str, bytes]) -> None:
        with self._explained():
            self._require_root()
            for name, content in contents.items():
                self._make_room(name)
                write_beside(self.root / name, content)

    def create(self, name: str, content: bytes) -> bool:
        with self._explained():
            self._require_root()
            self._make_room(name)
            try:
                with (self.root / name).open("xb") as file:  # for one alone, on NFS too
                    file.write(content)
            except FileExistsError:
                return False
            return True

    def remove(self, names: Iterable[str]) -> None:
        with self._explained():
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    (self.root / name).unlink()

    def _make_room(self, name: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)

    def _require_root(self) -> None:
        """Raise `OSError` where there is no such folder: a disk that is not mounted has none."""
        os.stat(self.root)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ShareError(f"cannot be used ({error.strerror or error})") from error
