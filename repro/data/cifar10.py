"""CIFAR-10 from its python version, read without running what a pickle can run.

Every file is checked against its published SHA-256 first, and is then unpickled by a reader that
knows how to rebuild an array and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.data.locate import DataError
from repro.data.registry import find

NAME = "cifar10"
FOLDER = find(NAME).folder


def _published(*files: str) -> dict[str, str]:
    return {file: find(NAME).file(file).sha256 or "" for file in files}


TRAINING = _published(*(f"data_batch_{number}" for number in range(1, 6)))
TEST = _published("test_batch")

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
            return np.ndarray.__reduce__(np.empty(0))[0]  # by whatever path this numpy has it
        return getattr(np, name)


def read_batches(
    folder: Path, files: dict[str, str]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images [N, 32, 32, 3] and labels [N] of verified files, in the official order."""
    images, labels = [], []
    for name, sha256 in files.items():
        found = ArrayUnpickler(io.BytesIO(verified(folder / name, sha256)), encoding="bytes").load()
        images.append(found[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        labels.append(np.asarray(found[b"labels"], dtype=np.int64))
    return np.ascontiguousarray(np.concatenate(images)), np.concatenate(labels)


def verified(path: Path, sha256: str) -> bytes:
    """The file's bytes, if they are the published ones."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"CIFAR-10 lacks {path} ({error.strerror}); fetch the set anew.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{path} is not CIFAR-10's file (its SHA-256 differs); fetch it anew.")
    return content
