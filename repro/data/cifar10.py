"""CIFAR-10's python version, read without running code from its pickles.

Every file is first compared with its published SHA-256. Then a reader unpickles it that can only
rebuild arrays.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.data.files import read_file
from repro.data.locate import DataError

NAME = "cifar10"
TRAINING = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = ("test_batch",)

_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),  # the same, since numpy 2
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}


class ArrayUnpickler(pickle.Unpickler):
    """Rebuilds dictionaries of numpy arrays; refuses every other class or function."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise DataError(f"A CIFAR-10 file asks to load {module}.{name}; fetch the file anew.")
        if name == "_reconstruct":
            return np.ndarray.__reduce__(np.empty(0))[0]  # numpy versions differ in its path
        return getattr(np, name)


def read_batches(files: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Read images [N, 32, 32, 3] and labels [N] of verified files, in the official order."""
    images, labels = [], []
    for file in files:
        batch = ArrayUnpickler(io.BytesIO(read_file(NAME, file)), encoding="bytes").load()
        images.append(batch[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        labels.append(np.asarray(batch[b"labels"], dtype=np.int64))
    return np.ascontiguousarray(np.concatenate(images)), np.concatenate(labels)
