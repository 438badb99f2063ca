"""CIFAR-10 from its python version, read without running what a pickle can run.

Every file is checked against its published SHA-256 first, and is then unpickled by a reader that
knows how to rebuild an array and nothing else.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repro.data.locate import DataError

FOLDER = "cifar-10-batches-py"

TRAINING = {
    "data_batch_1": "54636561a3ce25bd3e19253c6b0d8538147b0ae398331ac4a2d86c6d987368cd",
    "data_batch_2": "766b2cef9fbc745cf056b3152224f7cf77163b330ea9a15f9392beb8b89bc5a8",
    "data_batch_3": "0f00d98ebfb30b3ec0ad19f9756dc2630b89003e10525f5e148445e82aa6a1f9",
    "data_batch_4": "3f7bb240661948b8f4d53e36ec720d8306f5668bd0071dcb4e6c947f78e9682b",
    "data_batch_5": "d91802434d8376bbaeeadf58a737e3a1b12ac839077e931237e0dcd43adcb154",
}
TEST = {"test_batch": "f53d8d457504f7cff4ea9e021afcf0e0ad8e24a91f3fc42091b8adef61157831"}

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


@cache
def is_present(folder: Path) -> bool:
    """Whether there is a CIFAR-10 folder; its files are verified when they are read."""
    return (folder / FOLDER).is_dir()
