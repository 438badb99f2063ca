"""Errors and reports of the store, each in one sentence.

The user has to repair a folder that cannot be used: it raises `StoreError`. The store itself
repairs damaged content: it reports it, and the run is trained again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from repro import files

Report = Callable[[str], None]
"""A function that takes one line about damage in the store."""


class StoreError(Exception):
    """The store's folder cannot be used; the message says why and what to do."""


class StoreWarning(UserWarning):
    """Something in the store is damaged and will be trained again."""


def warn(line: str) -> None:
    """Report as a warning; the default of a store."""
    warnings.warn(line, StoreWarning, stacklevel=2)


def explained(root: Path) -> AbstractContextManager[None]:
    """Turn an error of the file system below `root` into a `StoreError`."""
    return files.explained(
        StoreError,
        full=(
            f"The store {root} is full",
            "free some space, or choose another folder for the store",
        ),
        refused=(
            f"The store {root} cannot be used",
            "make it a folder that you may read and write, or choose another one",
        ),
    )
