"""The places of ledgers: one for the claims of a folder, or one for each file of claims.

`ledger.toml` beside the claims is for all of them. Where there is a folder `ledger` instead, the
claims of `test_depth.py` have `ledger/test_depth.toml`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from repro.ledger.errors import LedgerError
from repro.store import has_stored_runs

NAME = "ledger.toml"
"""The ledger of all claims in a folder."""

FOLDER = "ledger"
"""The folder in which each file of claims has a ledger of its own."""

_NOT_LOOKED_INTO = frozenset({"venv", "node_modules", "build", "dist", "__pycache__"})


def ledger_of(file: Path) -> Path:
    """Return where the ledger of the claims in a file is, or will be; raises LedgerError.

    >>> ledger_of(Path("claims/test_depth_ladder.py"))
    PosixPath('claims/ledger/test_depth_ladder.toml')
    """
    folder = file.parent
    return folder / FOLDER / f"{file.stem}.toml" if is_split(folder) else folder / NAME


def ledgers_in(folder: Path) -> list[Path]:
    """Return the ledgers of a folder's claims, as far as there are any.

    Raises LedgerError where there is one for all of them and others beside it.

    >>> ledgers_in(Path("claims/documents"))[0]
    PosixPath('claims/documents/ledger/test_000_early_exit.toml')
    """
    whole, parts = folder / NAME, _parts(folder / FOLDER)
    if not os.path.lexists(whole):
        return parts
    if parts:
        raise LedgerError(
            f"There are both {whole} and the folder {folder / FOLDER}: keep the one that is right,"
            " and remove the other."
        )
    return [whole]


def is_split(folder: Path) -> bool:
    """Return whether each file of claims in a folder has its own ledger; raises LedgerError.

    It is so from the beginning where there is an empty folder for them.

    >>> is_split(Path("claims")), is_split(Path("examples/digits"))
    (True, False)
    """
    if ledgers := ledgers_in(folder):
        return ledgers != [folder / NAME]
    return (folder / FOLDER).is_dir() and has_room(folder)


def has_room(folder: Path) -> bool:
    """Return whether the folder for ledgers can be made, or is there and empty.

    >>> has_room(Path("claims"))
    False
    """
    names = _names(folder / FOLDER)
    if names is None:
        return not os.path.lexists(folder / FOLDER)
    return all(name.startswith(".") for name in names)


def is_of_one_file(path: Path) -> bool:
    """Return whether a path is that of the ledger of one file of claims.

    >>> is_of_one_file(Path("claims/ledger/test_depth.toml")), is_of_one_file(Path("ledger.toml"))
    (True, False)
    """
    if path.parent.name != FOLDER or path.suffix != ".toml":
        return False
    return not _has_modules(_names(path.parent) or [])


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


def _parts(folder: Path) -> list[Path]:
    """Return the ledgers in a folder of ledgers; a package of Python is none."""
    names = _names(folder) or []
    if _has_modules(names):
        return []
    return sorted(folder / x for x in names if x.endswith(".toml") and not x.startswith("."))


def _has_modules(names: list[str]) -> bool:
    return any(name.endswith(".py") for name in names)


def _names(folder: Path) -> list[str] | None:
    """Return the names of what is in a folder; None where there is none."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LedgerError(
            f"The folder {folder} cannot be read ({error.strerror}); allow reading it."
        ) from error
