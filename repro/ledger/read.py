"""The ledgers of a folder, of one file of claims, or of a session: read, and checked together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from repro.ledger.entry import Entry, LedgerError
from repro.ledger.file import Ledger
from repro.ledger.place import FOLDER, NAME, ledger_of, ledgers_in

T = TypeVar("T")


def read_ledgers(place: Path) -> list[Ledger]:
    """Return the ledgers of the claims in a folder, or in one file of it, as far as there are any.

    Raises LedgerError where one cannot be read, and where two have entries of the same claim.

    >>> [len(ledger.entries) for ledger in read_ledgers(Path("claims"))]
    """
    if place.is_dir():
        paths = ledgers_in(place)
    else:
        own = (place.parent / NAME, ledger_of(place))
        paths = [path for path in ledgers_in(place.parent) if path in own]
    ledgers = [Ledger.read(path) for path in paths]
    _claims_by_ledger(ledgers)
    return ledgers


def entries_at(path: Path) -> list[Entry]:
    """Return the entries of a ledger, which is a file or a folder of them; raises LedgerError.

    >>> len(entries_at(Path("claims/ledger")))
    """
    ledgers: list[Ledger] = []
    if path.is_file():
        ledgers = [Ledger.read(path)]
    elif path.is_dir() and path.name == FOLDER:
        ledgers = read_ledgers(path.parent)
    if not ledgers:
        raise LedgerError(f"There is no ledger {path}; pytest --update-ledger writes one.")
    return [entry for ledger in ledgers for entry in ledger.entries.values()]


class Ledgers:
    """The ledgers of a session, each read once, when a claim of it asks.

    >>> Ledgers().of(Path("claims/test_depth_ladder.py")).path
    PosixPath('claims/ledger/test_depth_ladder.toml')
    """

    def __init__(self) -> None:
        self._read: dict[Path, Ledger | LedgerError] = {}
        self._of: dict[Path, Ledger | LedgerError] = {}
        """The ledger of each file of claims."""
        self._claims: dict[Path, dict[str, Path] | LedgerError] = {}
        """The ledger of each claim, by the folder of the ledgers."""

    def of(self, file: Path) -> Ledger:
        """Return the ledger of the claims in a file; raises LedgerError.

        It has the entries of an older `ledger.toml` too, which may be about other files.
        """
        return _once(self._of, file, self._with_older)

    def _with_older(self, file: Path) -> Ledger:
        own, older = self._at(ledger_of(file)), self._at(file.parent / NAME)
        if not older.entries:
            return own
        return Ledger(own.path, [*older.entries.values(), *own.entries.values()])

    def _at(self, path: Path) -> Ledger:
        return _once(self._read, path, Ledger.read)

    def require_in_place(self, claim: str, file: Path) -> None:
        """Raise LedgerError where a claim has its entries in the ledger of another file.

        The other ledgers are read only where the claim has none in its own.
        """
        ledger = self.of(file)
        if ledger.of_claim(claim):
            return
        places = _once(self._claims, file.parent, lambda x: _claims_by_ledger(read_ledgers(x)))
        if claim in places:
            raise LedgerError(
                f"The ledger {places[claim]} has {claim}, whose claim is in {file.name}: move it"
                f" into {ledger.path.name}; where {file.name} was renamed, rename the ledger too."
            )


def _claims_by_ledger(ledgers: list[Ledger]) -> dict[str, Path]:
    """Return the path of the ledger that has a claim; raises LedgerError where two have it."""
    places: dict[str, Path] = {}
    for ledger in ledgers:
        for entry in ledger.entries.values():
            if (other := places.setdefault(entry.claim, ledger.path)) != ledger.path:
                raise LedgerError(
                    f"The ledgers {other} and {ledger.path} both have {entry.claim}: remove it from"
                    " the one that is not called as its claim's file."
                )
    return places


def _once(known: dict[Path, T | LedgerError], path: Path, make: Callable[[Path], T]) -> T:
    """Return what is known of a path, made at the first time; an error is raised every time."""
    if path not in known:
        try:
            known[path] = make(path)
        except LedgerError as error:
            known[path] = error
    found = known[path]
    if isinstance(found, LedgerError):
        raise found
    return found
