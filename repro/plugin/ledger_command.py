"""The command `ledger`: brings ledgers into one file a folder, or one for each file of claims."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro.ledger import LedgerError, folders_with_ledgers, ledgers_in, read_ledgers
from repro.ledger.arrange import Arrangement, join, split


def add_to(commands: Any) -> None:
    """Add `ledger` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("ledger", help="split ledgers by files of claims, or join them")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    splitting = actions.add_parser("split", help="give each file of claims its own ledger")
    joining = actions.add_parser("join", help="put the ledgers of a folder into one file")
    for action, run in ((splitting, _split), (joining, _join)):
        action.add_argument(
            "folder", nargs="?", type=Path, metavar="FOLDER", help="the folder of claims (claims)"
        )
        action.set_defaults(run=run)


def _split(chosen: argparse.Namespace) -> int:
    from repro.plugin.splitting import files_of_claims  # pytest takes long to import

    folder = _folder(chosen)
    files = files_of_claims(folder)
    return _arrange(folder, lambda each: split(each, files.get(each.absolute(), {})))


def _join(chosen: argparse.Namespace) -> int:
    return _arrange(_folder(chosen), join)


def _folder(chosen: argparse.Namespace) -> Path:
    """Return the folder of claims that is meant; raises LedgerError where no sound ledger is."""
    folder: Path = chosen.folder or Path("claims" if Path("claims").is_dir() else ".")
    ledgers = [read_ledgers(each) for each in folders_with_ledgers(folder)]
    if not any(ledgers):
        raise LedgerError(f"There is no ledger in {folder}; pytest --update-ledger writes one.")
    return folder


def _arrange(folder: Path, how: Callable[[Path], Arrangement]) -> int:
    """Arrange all ledgers of a folder and those below it, or none where one of them is wrong."""
    folders = [each for each in folders_with_ledgers(folder) if ledgers_in(each)]
    arrangements = [how(each) for each in folders]
    for arrangement in arrangements:
        arrangement.write()
        print(arrangement)
    return 0
