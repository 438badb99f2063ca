"""Image sets at a requested size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.data import cifar10
from repro.data.files import TWIN as TWIN_SUFFIX
from repro.data.files import content_hash, twin_folder
from repro.data.locate import DataError
from repro.data.prepared import Arrays, prepared

TWIN = cifar10.NAME + TWIN_SUFFIX

_PARTS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True)
class ImageSet:
    """Images in bytes, [N, side, side, 3], and their classes."""

    name: str
    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


def images_hash(name: str) -> str:
    """Return the hash of the content of a set.

    >>> len(images_hash("cifar10")), len(images_hash("cifar10-twin"))
    (64, 64)
    """
    if name == cifar10.NAME:
        files: tuple[str, ...] = (*cifar10.TRAINING, *cifar10.TEST)
    elif name == TWIN:
        files = tuple(f"{part}.npy" for part in _PARTS)
    else:
        raise DataError(f"There is no image set {name!r}; choose {cifar10.NAME} or {TWIN}.")
    return content_hash(name, files)


def load_images(name: str, *, size: int) -> ImageSet:
    """Load a set with images of `size` x `size` pixels, averaged from the original pixels.

    >>> load_images("cifar10-twin", size=8).train_images.shape
    (10240, 8, 8, 3)
    """
    if name == TWIN:
        folder = twin_folder(cifar10.NAME)
        arrays = {part: np.load(folder / f"{part}.npy", mmap_mode="r") for part in _PARTS}
        side = arrays["train_images"].shape[1]
        if side != size:
            raise DataError(f"{TWIN} has {side}x{side} pixels and {size}x{size} were asked for.")
        return ImageSet(name, **arrays)
    return ImageSet(name, **_prepare_cifar10(size))


def shrink(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Average images [N, S, S, 3] over blocks to [N, size, size, 3], in integers, halves up."""
    count, side = images.shape[:2]
    if side % size:
        raise DataError(f"Images of {side} pixels cannot be averaged to {size}; choose a divisor.")
    block = side // size
    sums = images.reshape(count, size, block, size, block, 3).sum(axis=(2, 4), dtype=np.uint32)
    means: NDArray[np.uint8] = ((sums + block**2 // 2) // block**2).astype(np.uint8)
    return means


@prepared
def _prepare_cifar10(size: int) -> Arrays:
    arrays: Arrays = {}
    for part, files in (("train", cifar10.TRAINING), ("test", cifar10.TEST)):
        images, labels = cifar10.read_batches(files)
        arrays[f"{part}_images"] = shrink(images, size)
        arrays[f"{part}_labels"] = labels
    return arrays
