"""A ledger as a file: what it holds of each claim, and how it is written."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from repro.files import explained, write_beside
from repro.ledger.entry import Entry, LedgerError, entries_in, text_of
from repro.ledger.place import FOLDER, NAME, is_package, ledger_of
from repro.text import shown

MOST_BYTES = 64 * 2**20
"""The most that is read of a file; a thousand claims take one megabyte."""


class Ledger:
    """The entries of one file.

    >>> path = Path("claims/ledger/test_depth_ladder.toml")
    >>> Ledger.read(path).entry("004/bp_climbs[d256]", "ci", "cifar10")
    """

    def __init__(self, path: Path, entries: Iterable[Entry]) -> None:
        self.path = path
        self.entries = {entry.place: entry for entry in entries}
        self._by_claim: dict[str, list[Entry]] | None = None

    @classmethod
    def read(cls, path: Path) -> Ledger:
        """Return the ledger at a path; an empty one where there is no file."""
        try:
            return cls(path, entries_in(_content(path)))
        except FileNotFoundError:
            return cls(path, [])
        except (OSError, ValueError) as error:  # of which TOML's and Unicode's errors are kinds
            raise LedgerError(
                f"The ledger {path} cannot be read ({shown(str(error))}); restore it from version"
                " control."
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


def _content(path: Path) -> bytes:
    """Return what is in a file; raises ValueError where it is none, or has no end."""
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise ValueError("it is no plain file")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    return content


def write_ledgers(ledgers: Iterable[Ledger]) -> None:
    """Write the ledgers that are not in their files as they are, each of them whole.

    One is removed where nothing is left in it. Raises LedgerError, and writes none of them where an
    entry cannot be written.

    >>> write_ledgers([Ledger(folder / "ledger" / "test_depth.toml", [])])
    """
    texts = [(ledger, text_of(ledger.entries.values())) for ledger in ledgers]
    for folder in {ledger.path.parent for ledger, _ in texts}:
        if folder.name == FOLDER and is_package(folder):
            raise LedgerError(
                f"{folder} has modules of Python, so no ledger can be there: rename it."
            )
    for ledger, text in texts:
        path = ledger.path
        said = f"The ledger {path} cannot be written"
        with explained(
            LedgerError, full=(said, "make room"), refused=(said, "mend that, and accept again")
        ):
            if not ledger.entries:
                path.unlink(missing_ok=True)
            elif not path.is_file() or path.read_bytes() != text:
                path.parent.mkdir(exist_ok=True)
                write_beside(path, text)


@contextmanager
def held(folders: Iterable[Path]) -> Iterator[None]:
    """Let no other session accept verdicts in these folders within the block.

    What is read there, changed and written loses then nothing of another one. No file is left.

    >>> with held([Path("claims")]):
    ...     Ledger.read(path).accept(entries)
    """
    with ExitStack() as stack:
        for folder in sorted({folder.resolve() for folder in folders}):  # in everybody's order
            with suppress(OSError):  # a disk of a network may have no locks
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def leave_one_file(folder: Path, files: Mapping[str, Path]) -> None:
    """Move the entries of these claims from a folder's `ledger.toml` to the ledgers of their files.

    The other entries stay in it; it is removed where none is left. Raises LedgerError.

    >>> leave_one_file(Path("claims"), {"004/bp_climbs[d256]": Path("claims/test_depth_ladder.py")})
    """
    whole = Ledger.read(folder / NAME)
    of_ledger: dict[Path, list[Entry]] = {}
    for entry in whole.entries.values():
        if entry.claim in files:
            of_ledger.setdefault(ledger_of(files[entry.claim]), []).append(entry)
    ledgers = [Ledger.read(path) for path in of_ledger]
    for ledger, entries in zip(ledgers, of_ledger.values(), strict=True):
        ledger.add(entries)
    write_ledgers(ledgers)
    whole.forget(files.keys())
