"""A ledger as a file: what it holds of each claim, and how it is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from repro.files import explained, write_beside
from repro.ledger.entry import Entry
from repro.ledger.errors import LedgerError
from repro.ledger.notes import noted
from repro.ledger.place import is_of_one_file
from repro.ledger.text import entries_in, text_of


class Ledger:
    """The entries of one file.

    >>> Ledger.read(Path("ledger.toml")).entry("004/bp_climbs[d256]", "ci", "cifar10")
    """

    def __init__(self, path: Path, entries: Iterable[Entry]) -> None:
        self.path = path
        self.entries = {entry.place: entry for entry in entries}
        self._by_claim: dict[str, list[Entry]] | None = None

    @classmethod
    def read(cls, path: Path, *, notes: Path | None = None) -> Ledger:
        """Return the ledger at a path; an empty one where there is no file.

        Another process may have left a note of it in the folder of `notes`.
        """
        try:
            content = path.read_bytes()
            known = noted(notes, content) if notes is not None else None
            return cls(path, entries_in(content) if known is None else known)
        except FileNotFoundError:
            return cls(path, [])
        except (OSError, ValueError) as error:  # of which TOML's and Unicode's errors are kinds
            raise LedgerError(
                f"The ledger {path} cannot be read ({error}); restore it from version control."
            ) from error

    def entry(self, claim: str, profile: str, data: str) -> Entry | None:
        """Return the accepted entry of a claim; None where there is none yet."""
        return self.entries.get((claim, profile, data))

    def of_claim(self, claim: str) -> Sequence[Entry]:
        """Return the entries of a claim at all sizes and on all data."""
        if self._by_claim is None:  # a claim has few entries, and a ledger thousands
            self._by_claim = {}
            for entry in self.entries.values():
                self._by_claim.setdefault(entry.claim, []).append(entry)
        return self._by_claim.get(claim, ())

    def opposed(self, claim: str, profile: str, verdict: str) -> list[Entry]:
        """Return the entries of a claim at other sizes that say the opposite of a verdict.

        `ci` is small, and its verdict stands beside that at the documented size, not instead of it.
        """
        opposite = {"reproduced": "refuted", "refuted": "reproduced"}.get(verdict)
        return [
            entry
            for entry in self.of_claim(claim)
            if entry.profile != profile and entry.verdict == opposite
        ]

    def add(self, entries: Iterable[Entry]) -> None:
        """Add or replace entries; the file stays as it is."""
        self.entries |= {entry.place: entry for entry in entries}
        self._by_claim = None

    def accept(self, entries: Iterable[Entry]) -> None:
        """Add or replace entries and write the file, sorted, so that its diff can be read."""
        self.add(entries)
        write_ledgers([self])

    def forget(self, claims: Collection[str]) -> None:
        """Remove the entries of these claims and write the file."""
        self.entries = {p: entry for p, entry in self.entries.items() if entry.claim not in claims}
        self._by_claim = None
        write_ledgers([self])


def write_ledgers(ledgers: Iterable[Ledger]) -> None:
    """Write the ledgers that are not in their files as they are, each of them whole.

    The ledger of one file of claims is removed where nothing is left in it. Raises LedgerError, and
    writes none of them where an entry cannot be written.

    >>> write_ledgers([Ledger(folder / "ledger.toml", [])])
    """
    texts = [(ledger, text_of(ledger.entries.values())) for ledger in ledgers]
    for ledger, text in texts:
        path = ledger.path
        said = f"The ledger {path} cannot be written"
        with explained(
            LedgerError, full=(said, "make room"), refused=(said, "mend that, and accept again")
        ):
            if not ledger.entries and is_of_one_file(path):
                path.unlink(missing_ok=True)
            elif not path.is_file() or path.read_bytes() != text:
                write_beside(path, text)
