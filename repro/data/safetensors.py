"""Tensors in the safetensors format: how public weights are published, and how repro keeps its own.

A file is the length of its header (8 bytes), the header as JSON (kind, shape and place of each
tensor), and the numbers. Here it is arrays of NumPy on either side.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
_NAMES = {np.dtype(kind): name for name, kind in _KINDS.items()}


class NotSafetensors(ValueError):
    """Bytes that are not what a safetensors file is; its text goes on from the file's name."""


def read_tensors(content: bytes) -> Arrays:
    """The tensors of a file by name; they share the file's memory and cannot be written to.

    >>> read_tensors(write_tensors({"bias": np.zeros(2, dtype=np.float32)}))["bias"].tolist()
    [0.0, 0.0]
    """
    begin = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:begin])
        header.pop("__metadata__", None)
        return {name: _tensor(content, begin, entry) for name, entry in header.items()}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise NotSafetensors(f"is no safetensors file of {', '.join(_KINDS)}") from error


def write_tensors(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A file of these tensors, in the order of their names: equal tensors are equal bytes.

    >>> len(write_tensors({"bias": np.zeros(2, dtype=np.float32)}))
    80
    """
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    end = 0
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        begin, end = end, end + array.nbytes
        kind = _NAMES[array.dtype.newbyteorder("<")]
        header[name] = {"dtype": kind, "shape": list(arrays[name].shape)}
        header[name]["data_offsets"] = [begin, end]
        parts.append(array.tobytes())
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def _tensor(content: bytes, begin: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    kind, shape = np.dtype(_KINDS[entry["dtype"]]), entry["shape"]
    start, stop = entry["data_offsets"]
    count = prod(shape)
    if stop - start != count * kind.itemsize or start < 0:
        raise ValueError("a tensor's place and shape disagree")
    return np.frombuffer(content, kind, count, begin + start).reshape(shape)
