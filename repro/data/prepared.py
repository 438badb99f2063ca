"""Arrays that are prepared once, kept in the user's cache, and mapped into memory later.

The address of a preparation is a hash of its inputs' hashes and settings, so it is known without
reading data. Workers that map the same files share their memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from repro.data.inventory import sha256_of
from repro.data.locate import user_cache
from repro.files import beside

Arrays = dict[str, Any]
"""Arrays by name."""


class DataWarning(UserWarning):
    """A damaged file in the data cache is made again."""


def identity(*parts: object) -> str:
    """Return the address of a preparation from its parts: hashes, settings, and its version.

    >>> identity("words", 1, 64) == identity("words", 1, 32)
    False
    """
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()


def prepared(address: str, make: Callable[[], Arrays]) -> Arrays:
    """Return the arrays at an address; make and store them if the cache lacks them.

    >>> prepared(identity("an example"), lambda: {"squares": np.arange(4) ** 2})["squares"].tolist()
    [0, 1, 4, 9]
    """
    folder = user_cache() / "prepared" / address
    stored = _read(folder)
    if stored is not None:
        return stored
    made = make()
    _write(folder, made)
    return _map(folder, made)


def _read(folder: Path) -> Arrays | None:
    """Map the stored arrays; None where they are missing or damaged."""
    try:
        sums = dict(line.split("  ")[::-1] for line in (folder / "sums").read_text().splitlines())
        if not sums:
            raise ValueError("sums")
        for name, written in sums.items():
            if sha256_of(folder / name) != written:
                raise ValueError(name)
        return {name.removesuffix(".npy"): np.load(folder / name, mmap_mode="r") for name in sums}
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, ValueError):
        warnings.warn(f"{folder} was damaged and is made anew.", DataWarning, stacklevel=3)
        return None


def _map(folder: Path, made: Arrays) -> Arrays:
    """Map arrays that were just written, to share their memory; or else return `made`."""
    try:
        return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in made}
    except (OSError, ValueError):
        return made


def _write(folder: Path, arrays: Arrays) -> None:
    """Store arrays, if the cache can be written."""
    # an error is ignored: another process was first, or the disk is full
    with contextlib.suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with beside(folder) as fresh:
            fresh.mkdir()
            sums = []
            for name, array in arrays.items():
                path = fresh / f"{name}.npy"
                np.save(path, array)
                sums.append(f"{sha256_of(path)}  {path.name}\n")
            (fresh / "sums").write_text("".join(sums))
