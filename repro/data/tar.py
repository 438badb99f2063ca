"""The members of a tar stream, read with little memory however long its headers say they are.

Python's `tarfile` keeps what headers say: those of one archive can fill gigabytes. Here a header
may have 64 KiB, and nothing is kept of a member that was read.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

LONGEST_HEADER = 2**16
"""Bytes that describe a member: a long name, or a list of properties."""

_BLOCK = 512
_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_PROPERTIES = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE)
_LENGTH = re.compile(rb"([1-9][0-9]{0,4}) ")
_SPARSE = "GNU.sparse"  # the start of the properties of a file with holes
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)


class Stream(Protocol):
    """Bytes that can be read, at most so many at a time; none at their end."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class TarMember:
    """One member of an archive, whose content can be read until the next one is asked for."""

    name: str
    size: int
    is_file: bool
    is_plain: bool
    """True for a file or a folder; False for a link, a device, a file with holes."""
    content: Stream


def tar_members(stream: Stream) -> Iterator[TarMember]:
    """Yield the members of a tar archive; `tarfile.TarError` or `EOFError` where it is damaged.

    >>> with tarfile.open(folder / "set.tar", mode="w") as archive:
    ...     archive.addfile(tarfile.TarInfo("a/long/" + "name" * 99))
    >>> with (folder / "set.tar").open("rb") as stream:
    ...     [len(member.name) for member in tar_members(stream)]
    [403]
    """
    said: dict[str, str] = {}
    while any(block := stream.read(_BLOCK)):
        block += _exactly(stream, _BLOCK - len(block))
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if header.size < 0:
            raise tarfile.ReadError("a member has less than no bytes")
        if header.type in (*_NAMES, *_PROPERTIES):
            text = _text(stream, header.size)
            if header.type == tarfile.GNUTYPE_LONGNAME:
                said["path"] = text.partition("\0")[0]
            elif header.type in _PROPERTIES and header.type != tarfile.XGLTYPE:
                said |= _properties(text)
            continue
        size = _size(said.get("size", str(header.size)))
        is_file = header.type in _FILES
        is_plain = (is_file or header.type == tarfile.DIRTYPE) and _SPARSE not in said
        content = _Part(stream, size if is_file else 0)
        yield TarMember(said.get("path", header.name), size, is_file, is_plain, content)
        content.skip()
        said = {}


def _text(stream: Stream, size: int) -> str:
    if size > LONGEST_HEADER:
        raise tarfile.ReadError(f"a header has {size} bytes")
    content = _exactly(stream, size + -size % _BLOCK)
    return content[:size].decode("utf-8", "surrogateescape")


def _properties(text: str) -> dict[str, str]:
    """Return those properties that matter, of lines `LENGTH NAME=VALUE`."""
    properties: dict[str, str] = {}
    content, start = text.encode("utf-8", "surrogateescape"), 0
    while start < len(content):
        length = _LENGTH.match(content, start)
        if length is None:
            raise tarfile.ReadError("a property has no length")
        line = content[length.end() : start + int(length[1])].decode("utf-8", "surrogateescape")
        name, _, value = line.removesuffix("\n").partition("=")
        if name in ("path", "size"):
            properties[name] = value
        elif name.startswith(_SPARSE):
            properties[_SPARSE] = value
        start += int(length[1])
    return properties


def _size(text: str) -> int:
    if not (text.isdecimal() and len(text) < 20):
        raise tarfile.ReadError("a member's size is no number")
    return int(text)


def _exactly(stream: Stream, size: int) -> bytes:
    content = b""
    while len(content) < size and (more := stream.read(size - len(content))):
        content += more
    if len(content) < size:
        raise EOFError("it ends within a member")
    return content


class _Part:
    """The content of one member, and after it what fills its last block."""

    def __init__(self, stream: Stream, size: int) -> None:
        self._stream, self._left, self._filling = stream, size, -size % _BLOCK

    def read(self, size: int, /) -> bytes:
        chunk = self._stream.read(min(size, self._left))
        self._left -= len(chunk)
        return chunk

    def skip(self) -> None:
        """Read on to the next header."""
        while self._left:
            _exactly(self._stream, min(self._left, LONGEST_HEADER))
            self._left -= min(self._left, LONGEST_HEADER)
        _exactly(self._stream, self._filling)
