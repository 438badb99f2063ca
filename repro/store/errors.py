"""What the store says when something is wrong: errors and reports of one sentence.

A folder that cannot be used is the user's to mend and raises `StoreError`. Damaged content is the
store's to mend: it is reported and trained again.
"""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Report = Callable[[str], None]
"""Takes one line about damage that was found."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class StoreError(Exception):
    """The store's folder cannot be used; says why and what to do."""


class StoreWarning(UserWarning):
    """Damage was found in the store, and what it held will be trained again."""


def warn(line: str) -> None:
    """The report of a store that was given none."""
    warnings.warn(line, StoreWarning, stacklevel=2)


@contextmanager
def explained(root: Path) -> Iterator[None]:
    """Turn what the file system refuses below `root` into a `StoreError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreError(
                f"The store {root} is full ({error.strerror}); free some space, or choose another"
                " folder for the store."
            ) from error
        raise StoreError(
            f"The store {root} cannot be used ({error.strerror or error}); make it a folder that"
            " you may read and write, or choose another one."
        ) from error
