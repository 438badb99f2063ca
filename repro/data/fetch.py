"""Fetches a set from its sources in turn, checks it, and then renames it into place.

Files come into a temporary folder, `.fetching/` in the data folder. Each has a limit on its size,
and counts only if its SHA-256 is the published one. Of an archive only the named files are taken.
"""

from __future__ import annotations

import http.client
import os
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import IO

from repro.data.disk import explained, locked
from repro.data.inventory import SUMS, fault, faults, sha256_of
from repro.data.locate import DataError, data_folder
from repro.data.registry import DataSet, File, Source, find
from repro.text import shown

FetchProgress = Callable[[str, int, int | None], None]
"""A function of a file's name, its bytes so far, and the bytes of the whole file or None."""

SCHEMES = ("http", "https", "file")
WAITING = ".fetching"
TIMEOUT = 30.0
"""Seconds that a server may stay silent."""

MOST_UNPUBLISHED = 2**34
"""The most bytes of a file without a published size; the largest known file has 6.4e9."""

_PIECE = 2**16


class SourceFailed(DataError):
    """A source did not give a file; the message says why, and the next source is tried."""


def fetch(
    name: str,
    *,
    mirror: str | None = None,
    timeout: float = TIMEOUT,
    watch: FetchProgress = lambda label, done, total: None,
    tell: Callable[[str], None] = print,
) -> Path:
    """Fetch the missing and damaged files of a set, and return its folder.

    A `mirror` is the address of a copy of the data folder; then no other source is used.

    >>> fetch("sms-spam", mirror="my-disk")
    Traceback (most recent call last):
    repro.data.locate.DataError: The mirror 'my-disk' is no address; give one of http, https, file.
    """
    known = find(name)
    sources = known.sources if mirror is None else [_mirrored(known, mirror)]
    root = data_folder()
    folder, beside = root / known.folder, root / WAITING / name
    waiting = f"Another process is fetching {name}; waiting for it."
    try:
        with locked(beside.with_name(f"{name}.lock"), waiting=lambda: tell(waiting)):
            faulty = faults(known, folder)
            missing = [file for file in known.files if file.name in faulty]
            try:
                if missing:
                    with explained(root):
                        shutil.rmtree(beside, ignore_errors=True)  # of a fetch that was killed
                        whole = _Fetch(known, beside, timeout, watch).collect(sources, missing)
                        _place(whole, folder)
            finally:
                shutil.rmtree(beside, ignore_errors=True)
    finally:
        with suppress(OSError):  # others may be fetching
            beside.parent.rmdir()
    return folder


class _Fetch:
    """One fetch of one set, in a temporary folder of its own."""

    def __init__(self, known: DataSet, beside: Path, timeout: float, watch: FetchProgress) -> None:
        self.known, self.timeout, self.watch = known, timeout, watch
        self.whole, self.partial = beside / "whole", beside / "partial"

    def collect(self, sources: Sequence[Source], missing: Sequence[File]) -> Path:
        """Return a folder with the files, and the hashes of those without a published one."""
        reasons = []
        for folder in (self.whole, self.partial):
            folder.mkdir(parents=True)
        for source in sources:
            offered = [f for f in missing if f.name in source.names and not self._has(f)]
            try:
                if source.is_archive and offered:
                    self._from_archive(source, offered)
                for file in offered if not source.is_archive else ():
                    address = source.address + urllib.parse.quote(source.names[file.name])
                    most = file.bytes or MOST_UNPUBLISHED
                    self._write(file.name, _sent(address, self.timeout), address, most)
                    self._keep(file, address)
            except SourceFailed as failure:
                reasons.append(str(failure))
        if not all(map(self._has, missing)):
            raise SourceFailed(
                f"{self.known.name} could not be fetched: {'; '.join(reasons)}. Try again later, or"
                " name a mirror of your own with --mirror."
            )
        if unpublished := [file.name for file in missing if file.sha256 is None]:
            lines = [f"{sha256_of(self.whole / name)}  {name}\n" for name in unpublished]
            (self.whole / SUMS).write_text("".join(lines), encoding="utf-8")
        return self.whole

    def _has(self, file: File) -> bool:
        return (self.whole / file.name).exists()

    def _from_archive(self, source: Source, offered: Sequence[File]) -> None:
        address, files = source.address, {file.name: file for file in offered}
        label = address.rsplit("/", 1)[1]
        archive = self._write(label, _sent(address, self.timeout), address, source.unpacked)
        for name, pieces in groupby(_unpacked(archive, set(files), address), itemgetter(0)):
            most = files[name].bytes or source.unpacked
            self._write(name, ((piece, None) for _, piece in pieces), address, most)
        archive.unlink()
        for file in offered:
            self._keep(file, address)

    def _write(
        self, name: str, pieces: Iterable[tuple[bytes, int | None]], address: str, most: int
    ) -> Path:
        """Write pieces into a file, each with the bytes of the whole file, if it is known."""
        path, have = self.partial / name, 0
        with explained(self.partial), path.open("wb") as file:
            for piece, total in pieces:
                have += len(piece)
                if have > most:
                    raise SourceFailed(f"{address} gives more than the {most} bytes of {name}")
                file.write(piece)
                self.watch(name, have, total)
        return path

    def _keep(self, file: File, address: str) -> None:
        """Move a file to those that are whole; raise SourceFailed if it is not as published."""
        path = self.partial / file.name
        wrong = fault(path, file, {})
        if wrong == "missing":
            raise SourceFailed(f"{address} lacks {file.name}")
        if wrong == "damaged":
            raise SourceFailed(f"{address} gave other bytes than published as {file.name}")
        if wrong is not None:
            raise SourceFailed(f"{address} gave a {file.name} that is no whole safetensors file")
        os.replace(path, self.whole / file.name)


def _place(whole: Path, folder: Path) -> None:
    """Rename the files into place: the whole folder if there is none yet, or else each file."""
    if not folder.exists():
        os.rename(whole, folder)
        return
    for path in whole.iterdir():
        os.replace(path, folder / path.name)


def _sent(address: str, timeout: float) -> Iterator[tuple[bytes, int | None]]:
    """Yield what is at an address, in pieces, each with the bytes of the whole if it says them."""
    request = urllib.request.Request(address, headers={"User-Agent": "repro"})
    have, total = 0, None
    try:
        with urllib.request.urlopen(request, timeout=timeout) as opened:
            if (length := opened.headers.get("Content-Length")) is not None:
                total = int(length)
            while piece := opened.read(_PIECE):
                have += len(piece)
                yield piece, total
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        reason = error.reason if type(error) is urllib.error.URLError else error
        raise SourceFailed(f"{address} cannot be read ({_said(reason)})") from error
    if total is not None and have < total:
        raise SourceFailed(f"{address} broke off after {have} of {total} bytes")


def _unpacked(archive: Path, names: set[str], address: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of these names in a zip or tar archive, in any folder of it, in pieces."""
    try:
        for path, opened in _members(archive):
            name = PurePosixPath(path).name
            if name in names:
                names.remove(name)
                while piece := opened.read(_PIECE):
                    yield name, piece
            if not names:
                return
    except Exception as error:  # whatever is raised for bytes that are no archive
        raise SourceFailed(f"{address} is no whole archive ({_said(error)})") from error


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                with packed.open(member) as opened:
                    yield member.filename, opened
        return
    with tarfile.open(archive) as tar:
        for entry in tar:
            if content := tar.extractfile(entry) if entry.isfile() else None:
                yield entry.name, content


def _said(reason: object) -> str:
    """Return the message of a server or of the system, to quote in a sentence."""
    return shown(str(reason), most=200)


def _mirrored(known: DataSet, mirror: str) -> Source:
    if urllib.parse.urlsplit(mirror).scheme not in SCHEMES:
        raise DataError(f"The mirror {mirror!r} is no address; give one of {', '.join(SCHEMES)}.")
    names = {file.name: file.name for file in known.files}
    return Source(f"{mirror.rstrip('/')}/{known.folder}/", False, names, 0)
