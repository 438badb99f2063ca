"""The command `data`: lists the data sets and fetches missing ones."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from repro.data.fetch import fetch
from repro.data.files import TWIN, twin_folder
from repro.data.inventory import Inventory, take_inventory
from repro.data.locate import DataError, data_folder
from repro.data.registry import data_sets, find
from repro.text import shown


def add_to(commands: Any) -> None:
    """Add `data` to the commands of a parser.

    >>> add_to(argparse.ArgumentParser().add_subparsers())
    """
    parser = commands.add_parser("data", help="list the data sets, or fetch them")
    parser.set_defaults(run=show)
    actions = parser.add_subparsers(metavar="ACTION")
    fetching = actions.add_parser("fetch", help="download what is missing, and check it")
    fetching.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="sets to fetch; without names, all but the weights of GPT-2",
    )
    fetching.add_argument(
        "--mirror",
        metavar="ADDRESS",
        help="the http or file address of a copy of a data folder; no other source is used",
    )
    fetching.set_defaults(run=fetch_named)


def show(chosen: argparse.Namespace) -> int:
    """Print every set: its folder, state, hash, size, licence and citation."""
    named = "REPRO_DATA" if os.environ.get("REPRO_DATA") else "the per-user cache"
    print(f"data folder: {shown(str(data_folder()))} ({named})")
    for name in data_sets():
        print()
        print("\n".join(_lines(take_inventory(name))))
    return 0


def fetch_named(chosen: argparse.Namespace) -> int:
    """Fetch the named sets; return 1 if one of them could not be fetched, else 0."""
    names = chosen.names or [name for name, known in data_sets().items() if not known.large]
    for name in names:
        find(name)  # a slip in the last name must not cost the download of the first
    code = 0
    for name in names:
        bar = ProgressBar()
        try:
            folder = fetch(name, mirror=chosen.mirror, watch=bar.show)
        except DataError as error:
            bar.end()
            print(shown(str(error)), file=sys.stderr)
            code = 1
        else:
            bar.end()
            print(f"{name} is complete in {shown(str(folder))}")
    return code


class ProgressBar:
    """A progress bar on one line of a terminal; without a terminal it draws nothing."""

    def __init__(self) -> None:
        self._drawn = False
        self._next = 0.0

    def show(self, label: str, done: int, total: int | None) -> None:
        """Draw the progress of a file: `done` bytes of `total`."""
        now = time.monotonic()
        if not sys.stderr.isatty() or (now < self._next and done != total):
            return
        self._next = now + 0.1
        share = f"[{'#' * (30 * done // total):30}] " if total else ""
        print(
            f"\r\x1b[K{shown(label)} {share}{megabytes(done)}", end="", file=sys.stderr, flush=True
        )
        self._drawn = True

    def end(self) -> None:
        """Clear the line for the next output."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def megabytes(count: int) -> str:
    """Format a number of bytes in megabytes.

    >>> megabytes(1_819_752)
    '1.8 MB'
    """
    return f"{count / 1e6:,.1f} MB"


def _lines(inventory: Inventory) -> Iterator[str]:
    known = inventory.known
    yield f"{known.name}: {known.title}"
    published = sum(file.bytes or 0 for file in known.files)
    size = inventory.bytes or published
    in_megabytes = megabytes(size) if size else "size not published"
    yield f"  {inventory.state}, {in_megabytes}, {shown(str(inventory.folder))}"
    if inventory.state == "not here" and twin_folder(known.name).is_dir():
        yield f"  its generated twin {known.name}{TWIN} stands in: {twin_folder(known.name)}"
    if all(file.sha256 for file in known.files):
        yield f"  sha256 {inventory.sha256}"
    elif inventory.sha256:
        yield f"  sha256 {inventory.sha256}, recorded when it was fetched; none is published"
    else:
        yield "  no hash is published, none is recorded: only its length is checked"
    yield f"  licence: {known.licence}"
    yield f"  {known.citation}"
