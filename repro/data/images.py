"""Image sets at the size an experiment asks for, prepared once and then mapped into memory.

A prepared set is addressed by what it was made of, so its name is known without reading it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.data import cifar10
from repro.data.locate import DataError, data_folder, fixtures, user_cache

TWIN = "cifar10-twin"
PREPARATION = 1
"""Changes whenever the preparation does, so that older prepared sets are left aside."""

Arrays = dict[str, Any]
"""The arrays of an image set, by the names of `ImageSet`."""

_PARTS = ("train_images", "train_labels", "test_images", "test_labels")


class DataWarning(UserWarning):
    """Something in the data cache had to be made again."""


@dataclass(frozen=True)
class ImageSet:
    """Images in bytes, [N, side, side, 3], and their classes."""

    name: str
    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


def resolve(name: str) -> str:
    """The set itself where it is here, else the name of its generated twin."""
    if name != "cifar10":
        return name
    return "cifar10" if cifar10.is_present(data_folder()) else TWIN


@cache
def image_identity(name: str, *, size: int) -> str:
    """The content hash of a set at a size, for results to be stored under.

    The hash is over the published hashes of the files it is made of, which are verified when they
    are read; the twin's files are small and hashed themselves.
    """
    if name == "cifar10":
        parts = [*cifar10.TRAINING.values(), *cifar10.TEST.values()]
    elif name == TWIN:
        folder = fixtures() / "images"
        parts = [hashlib.sha256((folder / f"{p}.npy").read_bytes()).hexdigest() for p in _PARTS]
    else:
        raise DataError(f"There is no image set {name!r}; choose cifar10 or {TWIN}.")
    return hashlib.sha256(f"{PREPARATION} {size} {' '.join(parts)}".encode()).hexdigest()


def load_images(name: str, *, size: int) -> ImageSet:
    """A set with images of `size` x `size` pixels, each the mean of the pixels it covers.

    >>> load_images("cifar10-twin", size=8).train_images.shape
    (10240, 8, 8, 3)
    """
    if name == TWIN:
        folder = fixtures() / "images"
        arrays = {part: np.load(folder / f"{part}.npy", mmap_mode="r") for part in _PARTS}
        if arrays["train_images"].shape[1] != size:
            side = arrays["train_images"].shape[1]
            raise DataError(f"{TWIN} has {side}x{side} pixels and {size}x{size} were asked for.")
        return ImageSet(name, **arrays)
    prepared = user_cache() / "prepared" / image_identity(name, size=size)
    found = _read_prepared(prepared)
    if found is None:
        found = _prepare_cifar10(size)
        _write_prepared(prepared, found)
    return ImageSet(name, **found)


def shrink(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Images [N, S, S, 3] to [N, size, size, 3]: block means, halves rounded up, in integers."""
    count, side = images.shape[:2]
    if side % size:
        raise DataError(f"Images of {side} pixels cannot be averaged to {size}; choose a divisor.")
    block = side // size
    sums = images.reshape(count, size, block, size, block, 3).sum(axis=(2, 4), dtype=np.uint32)
    means: NDArray[np.uint8] = ((sums + block**2 // 2) // block**2).astype(np.uint8)
    return means


def _prepare_cifar10(size: int) -> Arrays:
    folder = data_folder() / cifar10.FOLDER
    found: Arrays = {}
    for part, files in (("train", cifar10.TRAINING), ("test", cifar10.TEST)):
        images, labels = cifar10.read_batches(folder, files)
        found[f"{part}_images"] = shrink(images, size)
        found[f"{part}_labels"] = labels
    return found


def _read_prepared(folder: Path) -> Arrays | None:
    """The prepared arrays, mapped; None where they are missing or not what was written."""
    try:
        sums = dict(line.split("  ")[::-1] for line in (folder / "sums").read_text().splitlines())
        for part in _PARTS:
            path = folder / f"{part}.npy"
            if hashlib.sha256(path.read_bytes()).hexdigest() != sums[path.name]:
                raise ValueError(path.name)
        return {part: np.load(folder / f"{part}.npy", mmap_mode="r") for part in _PARTS}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError):
        warnings.warn(f"{folder} was damaged and is made anew.", DataWarning, stacklevel=3)
        return None


def _write_prepared(folder: Path, arrays: Arrays) -> None:
    """Written beside and renamed into place; a cache that cannot be written is done without."""
    token = secrets.token_hex(8)
    beside, damaged = (folder.with_name(f"{folder.name}.{x}") for x in (token, f"{token}.damaged"))
    try:
        beside.mkdir(parents=True)
        lines = []
        for part, array in arrays.items():
            path = beside / f"{part}.npy"
            np.save(path, array)
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
        (beside / "sums").write_text("".join(lines))
        if folder.exists():
            os.rename(folder, damaged)
        os.rename(beside, folder)
    except OSError:
        pass  # another process was first, or there is no room: the arrays are in memory anyway
    finally:
        for left in (beside, damaged):
            shutil.rmtree(left, ignore_errors=True)
