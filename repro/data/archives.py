"""Unpacks archives that are not trusted.

The names and sizes of files are known before, so no archive can write elsewhere or without end. An
archive that tries is refused as a whole.
"""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from repro.data.disk import explained
from repro.data.download import SourceFailed
from repro.data.registry import File
from repro.text import shown

MOST_MEMBERS = 10_000
"""The most members of an archive; real ones have a hundred."""

_CHUNK = 2**20

_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The allowed ways of compression; others may need gigabytes of memory."""

_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    OSError,  # also a place before the start of the file; what a disk refuses is a `DataError`
    ValueError,
    ArithmeticError,
    LookupError,
    RuntimeError,  # an encrypted member
)
"""The errors that the standard library raises for bytes that are no archive."""


class Stream(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


def unpack(archive: Path, wanted: Iterable[File], into: Path, *, at_most: int) -> None:
    """Unpack the wanted files, by name, from any folder of a zip or tar.gz archive.

    The archive may unpack to `at_most` bytes.

    >>> unpack(folder / "set.zip", [File("five.txt", bytes=5)], folder, at_most=100)
    >>> (folder / "five.txt").read_text()
    'words'
    """
    files = {file.name: file for file in wanted}
    try:
        with _Modest(archive) as opened:
            kind = opened.read(2)
            opened.seek(0)
            if kind == b"PK":
                written = _unpack_zip(opened, files, into, at_most)
            elif kind == b"\x1f\x8b":
                written = _unpack_tar(opened, files, into, at_most)
            else:
                raise SourceFailed("it is neither a zip nor a tar.gz archive")
    except _DAMAGE as error:
        raise SourceFailed(f"it is damaged ({shown(str(error), most=200)})") from error
    if missing := sorted(files.keys() - written):
        raise SourceFailed(f"it lacks {', '.join(missing)}")


def _unpack_zip(opened: IO[bytes], files: dict[str, File], into: Path, at_most: int) -> set[str]:
    def members(archive: zipfile.ZipFile) -> Iterator[tuple[str, int, Stream]]:
        left = at_most
        for member in archive.infolist():
            if member.is_dir() or _base(member.filename) not in files:
                continue
            if member.compress_type not in _PACKED:
                raise SourceFailed(f"its {_shown(member.filename)} is packed in an unknown way")
            if files[_base(member.filename)].bytes is None:  # else `_write` knows the right size
                left -= member.file_size
                _refuse_excess(left, at_most)
            yield member.filename, member.file_size, archive.open(member)

    with zipfile.ZipFile(opened) as archive:
        _refuse_crowd(len(archive.infolist()))
        for member in archive.infolist():
            mode = member.external_attr >> 16
            _refuse(member.filename, stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR))
        return _write(members(archive), files, into)


def _unpack_tar(opened: IO[bytes], files: dict[str, File], into: Path, at_most: int) -> set[str]:
    def members(archive: tarfile.TarFile) -> Iterator[tuple[str, int, Stream]]:
        for count, member in enumerate(archive, 1):
            archive.members = []  # type: ignore[attr-defined]  # all of them would be kept
            _refuse_crowd(count)
            is_plain = (member.isfile() or member.isdir()) and not member.issparse()
            _refuse(member.name, not is_plain)
            if member.isfile() and _base(member.name) in files:
                content = archive.extractfile(member)
                assert content is not None
                yield member.name, member.size, content
            # tarfile would look for the next member behind it for ever
            _refuse_excess(at_most - abs(member.size), at_most)

    stream: Any = _Bounded(gzip.GzipFile(fileobj=opened), at_most)
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        return _write(members(archive), files, into)


def _write(
    members: Iterable[tuple[str, int, Stream]], files: dict[str, File], into: Path
) -> set[str]:
    written: set[str] = set()
    for name, size, content in members:
        file = files[_base(name)]
        if file.bytes is not None and size != file.bytes:
            raise SourceFailed(
                f"its {_shown(name)} has {shown(str(size), most=20)} bytes where {file.bytes} are"
                " published"
            )
        if file.name in written:
            raise SourceFailed(f"it holds {file.name} twice")
        with _creating(into / file.name) as to:
            left = size
            while left and (chunk := content.read(min(left, _CHUNK))):
                left -= len(chunk)
                with explained(into):
                    to.write(chunk)
        if left:
            raise SourceFailed(f"its {_shown(name)} is {left} bytes short")
        written.add(file.name)
    return written


@contextmanager
def _creating(path: Path) -> Iterator[IO[bytes]]:
    with explained(path.parent):
        file = path.open("wb")
    try:
        yield file
    finally:
        with explained(path.parent):
            file.close()


def _refuse(name: str, is_special: bool) -> None:
    """Refuse an archive with a member that is no plain file, or leads outside."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or name[1:2] == ":":
        raise SourceFailed(f"it is hostile: '{_shown(name)}' leads outside its folder")
    if is_special:
        raise SourceFailed(f"it is hostile: '{_shown(name)}' is a link or a device")


def _refuse_crowd(members: int) -> None:
    if members > MOST_MEMBERS:
        raise SourceFailed(f"it has more than the {MOST_MEMBERS} members that are expected of one")


def _refuse_excess(left: int, at_most: int) -> None:
    if left < 0:
        raise SourceFailed(f"it unpacks to more than the {at_most} bytes that are expected of it")


def _shown(name: str) -> str:
    return shown(name, most=100)


def _base(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).name


class _Bounded:
    """A stream that raises after `at_most` bytes."""

    def __init__(self, stream: gzip.GzipFile, at_most: int) -> None:
        self._stream, self._left, self._at_most = stream, at_most, at_most

    def read(self, size: int, /) -> bytes:
        chunk = self._stream.read(size)
        self._left -= len(chunk)
        _refuse_excess(self._left, self._at_most)
        return chunk


class _Modest(io.FileIO):
    """A file with a limit on one read, since a zip's list of members is read as a whole."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > _CHUNK:
            raise zipfile.BadZipFile(f"a part of it has {size} bytes")
        return super().read(_CHUNK if size is None or size < 0 else size)
