"""The files of a stored run: readable text, and checksums.

`identity.json` has the identity behind the address, what made the result (all settings, the digests
of its trace and of the result that it starts from), and the number of this format. `result.json`
has the measured values. `provenance.json` says where and how the run was trained; the key does not
depend on it. `weights.safetensors` has the final parameters, if other runs start from them.
`SHA256SUMS` covers all files; `sha256sum -c` can check it. Equal content gives equal bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro.store.key import compact, digest, digest_of, plain

FORMAT = 2
EARLIER_FORMAT = 1
"""The format of results without what made them, which can be renewed."""

_CONTENT = ("identity.json", "provenance.json", "result.json")
_WEIGHTS = "weights.safetensors"
_SUMS = "SHA256SUMS"

_AT_ONCE = 1 << 16
"""The bytes of one read: of a larger buffer, most would be memory for nothing."""

_PLAINLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
"""No link is followed, and no pipe in place of a file is waited for."""


@dataclass(frozen=True)
class Made:
    """What made a result, besides its identity."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """All settings of its arm, defaults among them."""
    trace: str = ""
    """The digest of its trace; empty for a result without one."""
    start: str = ""
    """The digest of the result that it starts from."""


UNKNOWN = Made()


@dataclass(frozen=True)
class Result:
    """A stored run: its identity, its measured values, its provenance, and what made it."""

    key: str
    identity: dict[str, Any]
    values: dict[str, Any]
    provenance: dict[str, Any]
    weights: bytes | None = None
    """Its final parameters as a safetensors file, if they are kept."""
    made: Made = UNKNOWN
    content: str = ""
    """The digest of its values and parameters, for runs that start from it."""


def key_of(identity: Mapping[str, Any], made: Made) -> str:
    """Return the key of a result: the address of its run, and a digest of what made it.

    >>> key_of({"seed": 1}, Made(trace="5e1f")).partition("/")[0] == digest_of({"seed": 1})
    True
    """
    return _key(plain(identity, "identity"), plain(vars(made), "it"))


def _key(identity: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """The digests of an identity, and of it with what made the result; the former as text once."""
    parts = {"identity": compact(identity)} | {name: compact(x) for name, x in made.items()}
    whole = ",".join(f'"{name}":{parts[name]}' for name in sorted(parts))
    return f"{digest(parts['identity'])}/{digest(f'{{{whole}}}')[:16]}"


class Damaged(Exception):
    """A stored run is damaged; the message continues "The stored run …"."""


def encode(
    identity: Mapping[str, Any],
    values: Mapping[str, Any],
    provenance: Mapping[str, Any],
    weights: bytes | None = None,
    made: Made = UNKNOWN,
) -> dict[str, bytes]:
    """Return the files of a run, by name."""
    head = {"format": FORMAT, "identity": plain(identity, "identity"), **plain(vars(made), "it")}
    files = {
        "identity.json": readable(head),
        "provenance.json": readable(plain(provenance, "provenance")),
        "result.json": readable(plain(values, "values")),
    }
    if weights is not None:
        files[_WEIGHTS] = weights
    return {**files, _SUMS: _sums(files)}


def read(folder: str | Path, key: str) -> Result | None:
    """Read and verify the run with this key; None without one. Raises `Damaged`."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        if os.path.lexists(folder):
            raise Damaged("is not a folder") from error
        return None  # `put` reports a file in place of a folder
    try:
        return decoded(_files(opened), key)
    finally:
        os.close(opened)


def decoded(files: Mapping[str, bytes], key: str) -> Result:
    """Verify the files of a run and return it; raises `Damaged`."""
    content = {name: files[name] for name in (*_CONTENT, _WEIGHTS) if name in files}
    if files.get(_SUMS) != _sums(content):
        raise Damaged(f"does not match its {_SUMS}")
    try:
        head = json.loads(files["identity.json"].decode())
        if head["format"] == EARLIER_FORMAT:
            made, expected = UNKNOWN, digest_of(head["identity"])
        elif head["format"] == FORMAT:
            made = Made(head["settings"], head["trace"], head["start"])
            expected = _key(head["identity"], vars(made))  # plain, since it is read from JSON
        else:
            raise Damaged(f"has format {head['format']!r} where this version reads {FORMAT}")
        if expected != key:
            raise Damaged("has the identity of another run")
        values = json.loads(files["result.json"].decode())
        provenance = json.loads(files["provenance.json"].decode())
        if not isinstance(values, dict) or not isinstance(provenance, dict):
            raise Damaged("is not written as this version writes")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged("is not written as this version writes") from error
    weights = files.get(_WEIGHTS)
    digest = content_of(files["result.json"], weights)
    return Result(key, head["identity"], values, provenance, weights, made, digest)


def content_of(values: bytes, weights: bytes | None) -> str:
    """Return the digest of a result by its values as text, and its parameters."""
    return hashlib.sha256(values + (weights or b"")).hexdigest()


def _files(folder: int) -> dict[str, bytes]:
    """Return the files of an open folder that its checksums name, and no others."""
    sums = _content(_SUMS, folder)
    names = (*_CONTENT, _WEIGHTS) if _WEIGHTS.encode() in sums else _CONTENT
    return {**{name: _content(name, folder) for name in names}, _SUMS: sums}


def _content(name: str, folder: int) -> bytes:
    """Read a file: 40,000 runs have 160,000, so no file is opened twice or looked at before."""
    try:
        descriptor = os.open(name, _PLAINLY, dir_fd=folder)
        try:
            parts = [os.read(descriptor, _AT_ONCE)]
            while len(parts[-1]) == _AT_ONCE:  # a short read is the end of a file
                parts.append(os.read(descriptor, _AT_ONCE))
            return b"".join(parts)
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise Damaged(f"has no {name}") from error
    except OSError as error:
        if error.errno == errno.EIO:
            raise Damaged("cannot be read from the disk") from error
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise Damaged(f"holds {name!r}, which is not a plain file") from error
        raise


def _sums(files: Mapping[str, bytes]) -> bytes:
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return "".join(lines).encode()


def readable(content: object) -> bytes:
    """Return plain data as text for people."""
    return (json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()
