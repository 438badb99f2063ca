"""The state of a set in the data folder; every file is compared with its hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from repro.data.disk import readable
from repro.data.locate import data_folder
from repro.data.registry import DataSet, File, find, sum_of_sums
from repro.data.safetensors import is_whole_file

SUMS = "SHA256SUMS"
"""The file with the hashes, when fetched, of files without a published hash."""


@dataclass(frozen=True)
class Inventory:
    """The state of a set in the data folder."""

    known: DataSet
    folder: Path
    faults: dict[str, str]
    """The fault of each bad file: `missing`, `damaged`, or `cut short`."""

    bytes: int
    sha256: str | None
    """The published hash, or the hash when the set was fetched."""

    @property
    def state(self) -> str:
        """The state in words: `complete`, `not here`, or `incomplete` with a fault."""
        if not self.faults:
            return "complete"
        if not self.folder.is_dir():
            return "not here"
        name, fault = next(iter(self.faults.items()))
        more = f" and {len(self.faults) - 1} more" if len(self.faults) > 1 else ""
        return f"incomplete: {name} {fault}{more}"


def take_inventory(name: str) -> Inventory:
    """Check every file of a set.

    >>> take_inventory("gpt2-xl").state
    'not here'
    """
    known = find(name)
    folder = data_folder() / known.folder
    recorded = recorded_sums(folder)
    paths = [folder / file.name for file in known.files]
    with readable(folder):
        size = sum(path.stat().st_size for path in paths if path.is_file())
    return Inventory(
        known,
        folder,
        faults(known, folder),
        size,
        known.sha256 or sum_of_sums({file.name: recorded.get(file.name) for file in known.files}),
    )


def faults(known: DataSet, folder: Path) -> dict[str, str]:
    """Return the faults of a set's files in a folder, by file."""
    recorded = recorded_sums(folder)
    fault_of = {file.name: fault(folder / file.name, file, recorded) for file in known.files}
    return {name: wrong for name, wrong in fault_of.items() if wrong is not None}


def fault(path: Path, file: File, recorded: dict[str, str]) -> str | None:
    """Return the fault of a file, or None."""
    with readable(path.parent):
        if not path.is_file():
            return "missing"
        if file.bytes is not None and path.stat().st_size != file.bytes:
            return "damaged"
        expected = file.sha256 or recorded.get(file.name)
        if expected is not None and sha256_of(path) != expected:
            return "damaged"
        if file.sha256 is None and not is_whole_file(path):
            return "cut short"
        return None


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def recorded_sums(folder: Path) -> dict[str, str]:
    """Return the hashes of files when they were fetched, by file."""
    path = folder / SUMS
    with readable(folder):
        if not path.is_file():
            return {}
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return dict(line.split("  ", 1)[::-1] for line in lines if "  " in line)
