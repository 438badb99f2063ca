"""Unpacks archives that are not trusted.

Files are written under names and with sizes that are known beforehand, so no archive can write
elsewhere or without end. One that tries is refused as a whole.
"""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from repro.data.disk import explained
from repro.data.download import SourceFailed
from repro.data.registry import File

_CHUNK = 2**20

_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,  # an encrypted member, or a way of compression that is not known
)


def unpack(archive: Path, wanted: Iterable[File], into: Path, *, at_most: int) -> None:
    """Unpack the wanted files, by their names, from any folder of a zip or tar.gz archive.

    A tar.gz may unpack to `at_most` bytes in all.

    >>> unpack(folder / "set.zip", [File("five.txt", bytes=5)], folder, at_most=100)
    >>> (folder / "five.txt").read_text()
    'words'
    """
    files = {file.name: file for file in wanted}
    try:
        with archive.open("rb") as opened:
            kind = opened.read(2)
            opened.seek(0)
            if kind == b"PK":
                written = _unpack_zip(opened, files, into)
            elif kind == b"\x1f\x8b":
                written = _unpack_tar(opened, files, into, at_most)
            else:
                raise SourceFailed("it is neither a zip nor a tar.gz archive")
    except _DAMAGE as error:
        raise SourceFailed(f"it is damaged ({error})") from error
    if lacking := sorted(files.keys() - written):
        raise SourceFailed(f"it lacks {', '.join(lacking)}")


def _unpack_zip(opened: IO[bytes], files: dict[str, File], into: Path) -> set[str]:
    with zipfile.ZipFile(opened) as archive:
        members = archive.infolist()
        for member in members:
            mode = member.external_attr >> 16
            _refuse(member.filename, stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR))
        return _write(
            (
                (member.filename, member.file_size, archive.open(member))
                for member in members
                if not member.is_dir() and _base(member.filename) in files
            ),
            files,
            into,
        )


def _unpack_tar(opened: IO[bytes], files: dict[str, File], into: Path, at_most: int) -> set[str]:
    stream = _Bounded(gzip.GzipFile(fileobj=opened), at_most)

    def members(archive: tarfile.TarFile) -> Iterator[tuple[str, int, IO[bytes]]]:
        for member in archive:
            _refuse(member.name, not (member.isreg() or member.isdir()))
            content = archive.extractfile(member)
            if content is not None and _base(member.name) in files:
                yield member.name, member.size, content

    with tarfile.open(fileobj=stream, mode="r|") as archive:
        return _write(members(archive), files, into)


def _write(
    members: Iterable[tuple[str, int, IO[bytes]]], files: dict[str, File], into: Path
) -> set[str]:
    written: set[str] = set()
    for name, size, content in members:
        file = files[_base(name)]
        if file.bytes is not None and size != file.bytes:
            raise SourceFailed(f"its {name} has {size} bytes where {file.bytes} are published")
        if file.name in written:
            raise SourceFailed(f"it holds {file.name} twice")
        with _creating(into / file.name) as to, content:
            left = size
            while left and (chunk := content.read(min(left, _CHUNK))):
                left -= len(chunk)
                with explained(into):
                    to.write(chunk)
        if left:
            raise SourceFailed(f"its {name} is {left} bytes short")
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
    """Refuse the archive where a member is no plain file or leads outside."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or name[1:2] == ":":
        raise SourceFailed(f"it is hostile: {name!r} leads outside its folder")
    if is_special:
        raise SourceFailed(f"it is hostile: {name!r} is a link or a device")


def _base(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).name


class _Bounded(io.RawIOBase):
    """A stream that raises where it yields more bytes than it may."""

    def __init__(self, stream: gzip.GzipFile, at_most: int) -> None:
        self._stream, self._left, self._at_most = stream, at_most, at_most

    def read(self, size: int = -1) -> bytes:
        chunk = self._stream.read(size if size >= 0 else self._left + 1)
        self._left -= len(chunk)
        if self._left < 0:
            raise SourceFailed(
                f"it unpacks to more than the {self._at_most} bytes that are expected of it"
            )
        return chunk
