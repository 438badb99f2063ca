"""Ledgers brought into the other form: one for each file of claims, or one for all of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from repro.ledger.entry import Entry
from repro.ledger.errors import LedgerError
from repro.ledger.file import Ledger, write_ledgers
from repro.ledger.place import FOLDER, NAME, has_room
from repro.ledger.read import read_ledgers

_SHOWN = 5


@dataclass(frozen=True)
class Arrangement:
    """The ledgers of a folder as they are to be, and the files that are to go."""

    place: Path
    """The place of the entries afterwards: a file, or a folder of ledgers."""
    ledgers: list[Ledger]
    goes: list[Path]
    moved: int
    """The number of entries that come into another file."""

    def write(self) -> None:
        """Write the ledgers, and remove the files that go when these are there."""
        if not self.moved and not self.goes:
            return
        if self.place.name == FOLDER:
            self.place.mkdir(exist_ok=True)
        write_ledgers(self.ledgers)
        for path in self.goes:
            path.unlink()
        if self.place.name == NAME:  # what else somebody has put into the folder stays
            with suppress(OSError):
                (self.place.parent / FOLDER).rmdir()

    def __str__(self) -> str:
        entries = sum(len(ledger.entries) for ledger in self.ledgers)
        if not self.moved and not self.goes:
            return f"{self.place}: all {entries} entries are in their places"
        return f"{self.place}: {self.moved} of {entries} entries were moved here"


def split(folder: Path, files: Mapping[str, Path]) -> Arrangement:
    """Return a ledger for each file of claims in a folder, by the files that claims are in.

    Raises LedgerError where a claim is in no file, or where a ledger cannot be read.

    >>> split(Path("claims"), {"004/bp_climbs[d256]": Path("claims/test_depth.py")}).ledgers
    """
    before = read_ledgers(folder)
    place = folder / FOLDER
    if (folder / NAME).exists() and not has_room(folder):
        raise LedgerError(f"{place} is there already, and is no folder of ledgers: rename it.")
    entries: dict[Path, list[Entry]] = {}
    gone: set[str] = set()
    moved = 0
    for ledger in before:
        for entry in ledger.entries.values():
            if entry.claim not in files:
                gone.add(entry.claim)
                continue
            path = place / f"{files[entry.claim].stem}.toml"
            entries.setdefault(path, []).append(entry)
            moved += path != ledger.path
    if gone:
        names = ", ".join(sorted(gone)[:_SHOWN])
        more = f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else ""
        raise LedgerError(
            f"The ledger of {folder} has entries without a claim: {names}{more}. If they were"
            " renamed or deleted on purpose, pytest --update-ledger removes the entries."
        )
    goes = [ledger.path for ledger in before if ledger.path not in entries]
    return Arrangement(place, [Ledger(*each) for each in entries.items()], goes, moved)


def join(folder: Path) -> Arrangement:
    """Return one ledger for all claims of a folder; raises LedgerError where one cannot be read.

    >>> [ledger.path for ledger in join(Path("claims")).ledgers]
    [PosixPath('claims/ledger.toml')]
    """
    before = read_ledgers(folder)
    place = folder / NAME
    goes = [ledger.path for ledger in before if ledger.path != place]
    moved = sum(len(ledger.entries) for ledger in before if ledger.path != place)
    entries = [entry for ledger in before for entry in ledger.entries.values()]
    return Arrangement(place, [Ledger(place, entries)], goes, moved)
