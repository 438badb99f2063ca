"""The places of ledgers: one for each file of claims, in the folder `ledger` beside them.

The claims of `test_depth.py` have `ledger/test_depth.toml`. An older `ledger.toml` beside the
claims is read too; it may have entries of all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from repro.ledger.entry import LedgerError
from repro.store import has_stored_runs

NAME = "ledger.toml"
"""The ledger of all claims in a folder, as earlier versions wrote it."""

FOLDER = "ledger"
"""The folder in which each file of claims has a ledger of its own."""

_NOT_LOOKED_INTO = frozenset({"venv", "node_modules", "build", "dist", "__pycache__"})


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
    whole = [folder / NAME] if os.path.lexists(folder / NAME) else []
    names = (name for name in _names(place) if name.endswith(".toml") and not name.startswith("."))
    found = sorted(place / name for name in names)
    if not is_package(place):
        return [*whole, *found]
    if any(map(_has_entries, found)):
        raise LedgerError(f"{place} has modules of Python beside ledgers: move them elsewhere.")
    return whole


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
