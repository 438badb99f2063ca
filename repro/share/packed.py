"""A stored run as one object: a line for each of its files, then their contents.

The lines have checksums, so that a run that was cut short or altered on its way is noticed. What
is in the files the store verifies, and that they belong to the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from repro.store.entry import Damaged

_FIRST = b"repro result 1"
_MOST_LINES = 8


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the files of a run as one object.

    >>> unpacked(packed({"result.json": b"{}"}))
    {'result.json': b'{}'}
    """
    lines = (
        f"{hashlib.sha256(content).hexdigest()} {len(content)} {name}".encode()
        for name, content in files.items()
    )
    return b"\n".join([_FIRST, *lines, b"", b""]) + b"".join(files.values())


def unpacked(content: bytes) -> dict[str, bytes]:
    """Return the files of an object; raises `Damaged` where it is not as it was written."""
    first, _, rest = content.partition(b"\n")
    if first != _FIRST:
        raise Damaged("is not written as this version writes")
    head, end, rest = rest.partition(b"\n\n")
    lines = head.split(b"\n", _MOST_LINES)
    if not end or len(lines) > _MOST_LINES:
        raise Damaged("is not written as this version writes")
    files: dict[str, bytes] = {}
    start = 0
    for line in lines:
        try:
            digest, length, name = line.decode().split(" ")
            file = rest[start : start + int(length)]
        except ValueError as error:
            raise Damaged("is not written as this version writes") from error
        start += len(file)
        if len(file) != int(length) or hashlib.sha256(file).hexdigest() != digest:
            raise Damaged("does not match its checksums")
        files[name] = file
    if start != len(rest):
        raise Damaged("has more in it than its files")
    return files
