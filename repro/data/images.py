"""Image sets at a requested size, prepared once and then mapped into memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from repro.data import cifar10
from repro.data.files import TWIN as TWIN_SUFFIX
from repro.data.files import file_hashes, twin_folder
from repro.data.locate import DataError
from repro.data.prepared import Arrays, identity, prepared

TWIN = cifar10.NAME + TWIN_SUFFIX
PREPARATION = 1
"""The version of the preparation; sets from another version are not used."""

_PARTS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True)
class ImageSet:
    """Images in bytes, [N, side, side, 3], and their classes."""

    name: str
    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


def image_identity(name: str, *, size: int) -> str:
    """Return the content hash of a set at a size.

    >>> image_identity("cifar10", size=8)[:8], image_identity("cifar10-twin", size=8)[:8]
    ('7e48e968', '8b1d7cbd')
    """
    if name == cifar10.NAME:
        files: tuple[str, ...] = (*cifar10.TRAINING, *cifar10.TEST)
    elif name == TWIN:
        files = tuple(f"{part}.npy" for part in _PARTS)
    else:
        raise DataError(f"There is no image set {name!r}; choose {cifar10.NAME} or {TWIN}.")
    return identity(PREPARATION, size, *file_hashes(name, files))


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
    address = image_identity(name, size=size)
    return ImageSet(name, **prepared(address, lambda: _prepare_cifar10(size)))


def shrink(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Average images [N, S, S, 3] over blocks to [N, size, size, 3], in integers, halves up."""
    count, side = images.shape[:2]
    if side % size:
        raise DataError(f"Images of {side} pixels cannot be averaged to {size}; choose a divisor.")
    block = side // size
    sums = images.reshape(count, size, block, size, block, 3).sum(axis=(2, 4), dtype=np.uint32)
    means: NDArray[np.uint8] = ((sums + block**2 // 2) // block**2).astype(np.uint8)
    return means


def _prepare_cifar10(size: int) -> Arrays:
    arrays: Arrays = {}
    for part, files in (("train", cifar10.TRAINING), ("test", cifar10.TEST)):
        images, labels = cifar10.read_batches(files)
        arrays[f"{part}_images"] = shrink(images, size)
        arrays[f"{part}_labels"] = labels
    return arrays
