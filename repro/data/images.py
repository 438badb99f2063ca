"""Image sets at the size an experiment asks for, prepared once and then mapped into memory.

A prepared set is addressed by what it was made of, so its name is known without reading it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from repro.data import cifar10
from repro.data.files import TWIN as OF_A_TWIN
from repro.data.locate import DataError, data_folder, fixtures
from repro.data.prepared import Arrays, prepared

TWIN = cifar10.NAME + OF_A_TWIN
PREPARATION = 1
"""Changes whenever the preparation does, so that older prepared sets are left aside."""

_PARTS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True)
class ImageSet:
    """Images in bytes, [N, side, side, 3], and their classes."""

    name: str
    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


@cache
def image_identity(name: str, *, size: int) -> str:
    """The content hash of a set at a size, for results to be stored under.

    The hash is over the published hashes of the files it is made of, which are verified when they
    are read; the twin's files are small and hashed themselves.
    """
    if name == cifar10.NAME:
        parts = [*cifar10.TRAINING.values(), *cifar10.TEST.values()]
    elif name == TWIN:
        folder = fixtures() / cifar10.NAME
        parts = [hashlib.sha256((folder / f"{p}.npy").read_bytes()).hexdigest() for p in _PARTS]
    else:
        raise DataError(f"There is no image set {name!r}; choose {cifar10.NAME} or {TWIN}.")
    return hashlib.sha256(f"{PREPARATION} {size} {' '.join(parts)}".encode()).hexdigest()


def load_images(name: str, *, size: int) -> ImageSet:
    """A set with images of `size` x `size` pixels, each the mean of the pixels it covers.

    >>> load_images("cifar10-twin", size=8).train_images.shape
    (10240, 8, 8, 3)
    """
    if name == TWIN:
        folder = fixtures() / cifar10.NAME
        arrays = {part: np.load(folder / f"{part}.npy", mmap_mode="r") for part in _PARTS}
        if arrays["train_images"].shape[1] != size:
            side = arrays["train_images"].shape[1]
            raise DataError(f"{TWIN} has {side}x{side} pixels and {size}x{size} were asked for.")
        return ImageSet(name, **arrays)
    address = image_identity(name, size=size)
    return ImageSet(name, **prepared(address, lambda: _prepare_cifar10(size)))


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
