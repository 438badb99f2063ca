"""Ledgers as files: where they are, what they hold of each claim, and how they are written.

The claims of `test_depth.py` have `ledger/test_depth.toml`. An older `ledger.toml` beside the
claims is read too; it may have entries of all of them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from repro.files import explained, write_beside
from repro.ledger.entry import Entry, LedgerError, entries_in, text_of
from repro.store import has_stored_runs
from repro.text import shown

NAME = "ledger.toml"
"""The ledger of all claims in a folder, as earlier versions wrote it."""

FOLDER = "ledger"
"""The folder in which each file of claims has a ledger of its own."""

_NOT_LOOKED_INTO = frozenset({"node_modules", "__pycache__"})
_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")
"""Names in the folder of an environment of Python."""

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
            entries = entries_in(_content(path))
            if not entries:
                raise ValueError("it has no entries")
            return cls(path, entries)
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


def ledger_of(file: Path) -> Path:
    """Return where the ledger of the claims in a file is, or will be.

    >>> ledger_of(Path("claims/test_depth_ladder.py"))
    PosixPath('claims/ledger/test_depth_ladder.toml')
    """
    return file.parent / FOLDER / f"{file.stem}.toml"


def ledgers_in(folder: Path) -> list[Path]:
    """Return the ledgers of a folder's claims, as far as there are any; raises LedgerError.

    >>> ledgers_in(Path("claims/documents"))[0]
    PosixPath('claims/documents/ledger/test_000_early_exit.toml')
    """
    place = folder / FOLDER
    if place.is_symlink() and not place.exists():
        raise LedgerError(f"{place} is a link that leads nowhere: bring back what it led to.")
    whole = [folder / NAME] if os.path.lexists(folder / NAME) else []
    names = (name for name in _names(place) if name.endswith(".toml") and not name.startswith("."))
    found = sorted(place / name for name in names)
    if is_package(place):
        if any(map(_has_entries, found)):
            raise LedgerError(f"{place} has modules of Python beside ledgers: move them elsewhere.")
        return whole
    named_alike = (place / name for name in _names(place) if name.lower().endswith(".toml"))
    for path in (*sorted(named_alike), *sorted(place.glob("*/*.toml"))):
        if path not in found and not path.name.startswith(".") and _has_entries(path):
            raise LedgerError(f"{path} has entries, and is not read: name it {place}/*.toml.")
    return [*whole, *found]


def _has_entries(path: Path) -> bool:
    try:
        return path.is_file() and b"[[claim]]" in path.read_bytes()
    except OSError:  # which its reader will say
        return True


def is_package(folder: Path) -> bool:
    """Return whether a folder has modules of Python in it, and so no ledgers; raises LedgerError.

    >>> is_package(Path("claims/ledger"))
    False
    """
    return any(name.endswith(".py") for name in _names(folder))


def folders_with_ledgers(at: Path, *, but: Path | None = None) -> Iterator[Path]:
    """Yield a folder and those below it, as pytest walks them, that seem to have ledgers.

    Not looked into: hidden folders, environments, the runs of stores and the folder to leave out.

    >>> list(folders_with_ledgers(Path("claims")))
    [PosixPath('claims'), PosixPath('claims/documents')]
    """
    for folder, below, files in os.walk(at):
        if not {NAME, FOLDER}.isdisjoint([*files, *below]):
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
    """Return the names of what is in a folder, if there is one."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise LedgerError(
            f"The folder {folder} cannot be read ({error.strerror}); allow reading it."
        ) from error


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
        self._at = cache(Ledger.read)
        self._of = cache(self._with_older)
        self._claims_in = cache(lambda folder: _claims_by_ledger(read_ledgers(folder)))

    def of(self, file: Path) -> Ledger:
        """Return the ledger of the claims in a file; raises LedgerError.

        It has the entries of an older `ledger.toml` too, which may be about other files.
        """
        return self._of(file)

    def _with_older(self, file: Path) -> Ledger:
        own, older = self._at(ledger_of(file)), self._at(file.parent / NAME)
        if not older.entries:
            return own
        return Ledger(own.path, [*older.entries.values(), *own.entries.values()])

    def require_in_place(self, claim: str, file: Path) -> None:
        """Raise LedgerError where a claim has its entries in the ledger of another file.

        The other ledgers are read only where the claim has none in its own.
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


@contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Let no other session accept verdicts in these folders within the block.

    What is read there, changed and written loses then nothing of another one. No file is left.

    >>> with locked([Path("claims")]):
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
