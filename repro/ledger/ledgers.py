"""The files of ledgers: finds, reads and writes them.

The ledger of the claims in `test_depth.py` is `ledger/test_depth.toml`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from repro.files import explained, write_beside
from repro.ledger.entry import Entry, LedgerError, entries_in, text_of
from repro.store import has_stored_runs
from repro.text import shown

FOLDER = "ledger"
"""The folder with a ledger for each file of claims."""

_OF_ALL = "ledger.toml"
"""A ledger of all claims in a folder, as former versions wrote it; it is refused."""

_NOT_LOOKED_INTO = frozenset({"node_modules", "__pycache__"})
_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
"""Names that mark the folder of a Python environment."""

MOST_BYTES = 64 * 2**20
"""The largest size of a ledger; a thousand claims take one megabyte."""


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
        """Return the ledger at a path; it is empty if there is no file."""
        try:
            entries = entries_in(_content(path))
            if not entries:
                raise ValueError("it has no entries")
            return cls(path, entries)
        except FileNotFoundError:
            return cls(path, [])
        except (OSError, ValueError) as error:  # errors of TOML and Unicode are ValueErrors
            raise LedgerError(
                f"The ledger {path} cannot be read ({shown(str(error))}); restore it from version"
                " control."
            ) from error

    def entry(self, claim: str, profile: str, data: str) -> Entry | None:
        """Return the accepted entry of a claim; None if there is none yet."""
        return self.entries.get((claim, profile, data))

    def of_claim(self, claim: str) -> Sequence[Entry]:
        """Return the entries of a claim at all sizes and on all data."""
        if self._by_claim is None:  # a claim has few entries, and a ledger thousands
            self._by_claim = {}
            for entry in self.entries.values():
                self._by_claim.setdefault(entry.claim, []).append(entry)
        return self._by_claim.get(claim, ())

    def opposed(self, claim: str, profile: str, verdict: str) -> list[Entry]:
        """Return the entries of a claim at other profiles with the opposite verdict.

        A verdict at the small size `ci` does not replace the one at the documented size.
        """
        opposite = {"reproduced": "refuted", "refuted": "reproduced"}.get(verdict)
        return [
            entry
            for entry in self.of_claim(claim)
            if entry.profile != profile and entry.verdict == opposite
        ]

    def add(self, entries: Iterable[Entry]) -> None:
        """Add or replace entries, without writing the file."""
        self.entries |= {entry.place: entry for entry in entries}
        self._by_claim = None

    def accept(self, entries: Iterable[Entry]) -> None:
        """Add or replace entries and write the file, sorted, for a readable diff."""
        self.add(entries)
        write_ledgers([self])

    def forget(self, claims: Collection[str]) -> None:
        """Remove the entries of these claims and write the file."""
        self.entries = {p: entry for p, entry in self.entries.items() if entry.claim not in claims}
        self._by_claim = None
        write_ledgers([self])


def _content(path: Path) -> bytes:
    """Return the content of a file; raises ValueError if it is no plain file, or too large."""
    if path.is_symlink() and not path.exists():
        raise ValueError("it is a link that leads nowhere")
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise ValueError("it is no plain file")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES} bytes")
    return content


def write_ledgers(ledgers: Iterable[Ledger]) -> None:
    """Write the ledgers that differ from their files, and remove the files of empty ones.

    Raises LedgerError; if an entry cannot be written, no file is written.

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


def ledger_of(file: Path) -> Path:
    """Return the path of the ledger for a file of claims.

    >>> ledger_of(Path("claims/test_depth_ladder.py"))
    PosixPath('claims/ledger/test_depth_ladder.toml')
    """
    return file.parent / FOLDER / f"{file.stem}.toml"


def ledgers_in(folder: Path) -> list[Path]:
    """Return the paths of the ledgers of a folder's claims; raises LedgerError.

    >>> ledgers_in(Path("claims/documents"))[0]
    PosixPath('claims/documents/ledger/test_000_early_exit.toml')
    """
    place = folder / FOLDER
    if place.is_symlink() and not place.exists():
        raise LedgerError(f"{place} is a link that leads nowhere: bring back what it led to.")
    if _has_entries(folder / _OF_ALL):
        raise LedgerError(
            f"{folder / _OF_ALL} has entries, and is not read: move them into {place}, into one"
            " file for each file of claims."
        )
    names = (name for name in _names(place) if name.endswith(".toml") and not name.startswith("."))
    found = sorted(place / name for name in names)
    if is_package(place):
        if any(map(_has_entries, found)):
            raise LedgerError(f"{place} has modules of Python beside ledgers: move them elsewhere.")
        return []
    named_alike = (place / name for name in _names(place) if name.lower().endswith(".toml"))
    for path in (*sorted(named_alike), *sorted(place.glob("*/*.toml"))):
        if path not in found and not path.name.startswith(".") and _has_entries(path):
            raise LedgerError(f"{path} has entries, and is not read: name it {place}/*.toml.")
    return found


def _has_entries(path: Path) -> bool:
    try:
        return path.is_file() and b"[[claim]]" in path.read_bytes()
    except OSError:  # reported when the ledger is read
        return True


def is_package(folder: Path) -> bool:
    """Return whether a folder has Python modules, and so no ledgers; raises LedgerError.

    >>> is_package(Path("claims/ledger"))
    False
    """
    return any(name.endswith(".py") for name in _names(folder))


def folders_with_ledgers(at: Path, *, but: Path | None = None) -> Iterator[Path]:
    """Yield a folder and the folders below it, if they seem to have ledgers.

    It skips hidden folders, environments, the runs of stores, and the folder `but`.

    >>> list(folders_with_ledgers(Path("claims")))
    [PosixPath('claims'), PosixPath('claims/documents')]
    """
    for folder, below, files in os.walk(at):
        if not {_OF_ALL, FOLDER}.isdisjoint([*files, *below]):
            yield Path(folder)
        below[:] = sorted(
            x
            for x in below
            if not x.startswith(".")
            and x not in _NOT_LOOKED_INTO
            and not any(Path(folder, x, name).exists() for name in _OF_ENVIRONMENTS)
            and Path(folder, x) != but
            and not has_stored_runs(Path(folder, x))
        )


def _names(folder: Path) -> list[str]:
    """Return the names of the entries of a folder; none if there is no such folder."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise LedgerError(
            f"The folder {folder} cannot be read ({error.strerror}); allow reading it."
        ) from error


def read_ledgers(place: Path) -> list[Ledger]:
    """Return the ledgers of the claims in a folder, or in one file.

    Raises LedgerError where one cannot be read, or where two have entries of the same claim.

    >>> [len(ledger.entries) for ledger in read_ledgers(Path("claims"))]
    """
    if place.is_dir():
        paths = ledgers_in(place)
    else:
        paths = [path for path in ledgers_in(place.parent) if path == ledger_of(place)]
    ledgers = [Ledger.read(path) for path in paths]
    _claims_by_ledger(ledgers)
    return ledgers


def entries_at(path: Path) -> list[Entry]:
    """Return the entries of a ledger file, or of all files in a folder; raises LedgerError.

    >>> len(entries_at(Path("claims/ledger")))
    """
    ledgers: list[Ledger] = []
    if path.is_file():
        ledgers = [Ledger.read(path)]
    elif path.is_dir() and path.resolve().name == FOLDER:
        ledgers = read_ledgers(path.resolve().parent)
    elif path.is_dir():  # a copy of one
        ledgers = [Ledger.read(file) for file in sorted(path.glob("*.toml"))]
    if not ledgers:
        raise LedgerError(f"There is no ledger {path}; pytest --update-ledger writes one.")
    return [entry for ledger in ledgers for entry in ledger.entries.values()]


class Ledgers:
    """The ledgers of a session; each is read once, when it is first needed.

    >>> Ledgers().of(Path("claims/test_depth_ladder.py")).path
    PosixPath('claims/ledger/test_depth_ladder.toml')
    """

    def __init__(self) -> None:
        self._at = cache(Ledger.read)
        self._claims_in = cache(lambda folder: _claims_by_ledger(read_ledgers(folder)))

    def of(self, file: Path) -> Ledger:
        """Return the ledger of the claims in a file; raises LedgerError."""
        return self._at(ledger_of(file))

    def require_in_place(self, claim: str, file: Path) -> None:
        """Raise LedgerError where the entries of a claim are in the ledger of another file.

        Other ledgers are read only if the claim has no entry in its own.
        """
        ledger = self.of(file)
        if ledger.of_claim(claim):
            return
        places = self._claims_in(file.parent)
        if claim in places:
            raise LedgerError(
                f"The ledger {places[claim]} has {claim}, whose claim is in {file.name}: move it"
                f" into {ledger.path.name}; where {file.name} was renamed, rename the ledger too."
            )


def _claims_by_ledger(ledgers: list[Ledger]) -> dict[str, Path]:
    """Return the path of the ledger of each claim; raises LedgerError where two have one claim."""
    places: dict[str, Path] = {}
    for ledger in ledgers:
        for entry in ledger.entries.values():
            if (other := places.setdefault(entry.claim, ledger.path)) != ledger.path:
                raise LedgerError(
                    f"The ledgers {other} and {ledger.path} both have {entry.claim}: remove it from"
                    " the one that is not called as its claim's file."
                )
    return places


@contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Let no other session accept verdicts in these folders within the block.

    So no session overwrites the changes of another. It leaves no lock file.

    >>> with locked([Path("claims")]):
    ...     Ledger.read(path).accept(entries)
    """
    with ExitStack() as stack:
        for folder in sorted({folder.resolve() for folder in folders}):  # one order: no deadlock
            with suppress(OSError):  # a network disk may have no locks
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
