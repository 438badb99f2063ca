"""Tensors as safetensors files, the format of public weights and of stored parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

Arrays = dict[str, NDArray[Any]]


class NotSafetensors(ValueError):
    """Bytes are no safetensors file; the message continues after the file's name."""


def read_tensors(content: bytes) -> Arrays:
    """Read the tensors of a file, by name.

    >>> read_tensors(write_tensors({"bias": np.zeros(2, dtype=np.float32)}))["bias"].tolist()
    [0.0, 0.0]
    """
    try:
        return load(content)
    except SafetensorError as error:
        raise NotSafetensors(f"is no safetensors file ({error})") from error
    except KeyError as error:
        raise NotSafetensors(f"holds {error} numbers, which NumPy does not have") from error


def write_tensors(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return tensors as a file; equal tensors give equal bytes, in any order.

    >>> len(write_tensors({"bias": np.zeros(2, dtype=np.float32)}))
    80
    """
    # the library ignores strides, so a transposed array must be copied first
    return save({name: np.asarray(array, order="C") for name, array in arrays.items()})


def is_whole_file(path: Path) -> bool:
    """Tell whether a file is a safetensors file and as long as its header says.

    >>> _ = (folder / "weights").write_bytes(write_tensors({})[:-1])
    >>> is_whole_file(folder / "weights")
    False
    """
    try:
        with safe_open(path, framework="numpy"):
            return True
    except SafetensorError:
        return False
