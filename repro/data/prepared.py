"""Arrays that were prepared once, kept in the user's cache, and mapped into memory from then on.

A preparation is addressed by what it was made of, so its name is known without reading anything;
workers that map the same files share their memory.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from repro.data.locate import user_cache

Arrays = dict[str, Any]
"""Arrays by name."""


class DataWarning(UserWarning):
    """Something in the data cache had to be made again."""


def identity(*parts: object) -> str:
    """The address of what is made of these parts: hashes, settings, and a preparation's version.

    >>> identity("words", 1, 64) == identity("words", 1, 32)
    False
    """
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()


def prepared(address: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays of that address, made and stored if they are not in the cache yet.

    >>> prepared(identity("an example"), lambda: {"squares": np.arange(4) ** 2})["squares"].tolist()
    [0, 1, 4, 9]
    """
    folder = user_cache() / "prepared" / address
    found = _read(folder)
    if found is None:
        made = make()
        _write(folder, made)
        found = _map(folder, made)
    return found


def _read(folder: Path) -> Arrays | None:
    """The stored arrays, mapped; None where they are missing or not what was written."""
    try:
        sums = dict(line.split("  ")[::-1] for line in (folder / "sums").read_text().splitlines())
        if not sums:
            raise ValueError("sums")
        for name, written in sums.items():
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != written:
                    raise ValueError(name)
        return {name.removesuffix(".npy"): np.load(folder / name, mmap_mode="r") for name in sums}
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, ValueError):
        warnings.warn(f"{folder} was damaged and is made anew.", DataWarning, stacklevel=3)
        return None


def _map(folder: Path, made: Arrays) -> Arrays:
    """What was just written, mapped, so that the first worker shares it too; else as it is."""
    try:
        return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in made}
    except (OSError, ValueError):
        return made


def _write(folder: Path, arrays: Arrays) -> None:
    """Written beside and renamed into place; a cache that cannot be written is done without."""
    token = secrets.token_hex(8)
    beside, damaged = (folder.with_name(f"{folder.name}.{x}") for x in (token, f"{token}.damaged"))
    try:
        beside.mkdir(parents=True)
        lines = []
        for name, array in arrays.items():
            path = beside / f"{name}.npy"
            np.save(path, array)
            with path.open("rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
        (beside / "sums").write_text("".join(lines))
        if folder.exists():
            os.rename(folder, damaged)
        os.rename(beside, folder)
    except OSError:
        pass  # another process was first, or there is no room: the arrays are in memory anyway
    finally:
        for left in (beside, damaged):
            shutil.rmtree(left, ignore_errors=True)
