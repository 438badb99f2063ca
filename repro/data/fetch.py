"""Fetches a set from its sources in turn, checks it, and then renames it into place.

Incomplete files are in `.fetching/` in the data folder; the next fetch continues them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from repro.data.answers import SCHEMES
from repro.data.archives import unpack
from repro.data.disk import explained, locked
from repro.data.download import SourceFailed, discard, download
from repro.data.inventory import SUMS, fault, faults, recorded_sums, sha256_of
from repro.data.locate import DataError, data_folder
from repro.data.registry import DataSet, File, Source, find

FetchProgress = Callable[[str, int, int | None], None]
"""A function of a file's name, its bytes so far, and the bytes of the whole file or None."""

WAITING = ".fetching"
TIMEOUT = 30.0
"""Seconds that a server may stay silent."""

MOST_UNPUBLISHED = 2**34
"""The most bytes of a file without a published size; the largest known file has 6.4e9."""


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
    waiting = root / WAITING
    try:
        with locked(
            waiting / f"{name}.lock",
            waiting=lambda: tell(f"Another process is fetching {name}; waiting for it."),
        ):
            faulty = faults(known, root / known.folder)
            if faulty:
                missing = [file for file in known.files if file.name in faulty]
                _Fetch(known, waiting / name, timeout, watch).run(sources, missing)
    finally:
        _remove_empty(waiting)
    return root / known.folder


class _Fetch:
    """One fetch of one set, in a temporary folder of its own."""

    def __init__(self, known: DataSet, beside: Path, timeout: float, watch: FetchProgress) -> None:
        self.known, self.timeout, self.watch = known, timeout, watch
        self.beside, self.partial, self.whole = beside, beside / "partial", beside / "whole"

    def run(self, sources: Sequence[Source], missing: Sequence[File]) -> None:
        with explained(self.beside):
            for folder in (self.partial, self.whole):
                folder.mkdir(parents=True, exist_ok=True)
        try:
            self._collect(sources, missing)
            with explained(self.beside.parents[1]):
                self._place(missing)
        except SourceFailed:
            _remove_empty(self.partial, self.whole, self.beside)
            raise  # the next attempt continues the parts
        except DataError:
            shutil.rmtree(self.beside, ignore_errors=True)  # the disk may be full
            raise
        shutil.rmtree(self.beside, ignore_errors=True)

    def _collect(self, sources: Sequence[Source], missing: Sequence[File]) -> None:
        reasons = []
        left = self._not_whole(missing)
        for source in sources:
            offered = [file for file in left if file.name in source.names]
            try:
                if source.is_archive and offered:
                    self._from_archive(source, offered)
                else:
                    for file in offered:
                        self._file(source.address + _quoted(source.names[file.name]), file)
            except SourceFailed as failure:
                reasons.append(str(failure))
            left = self._not_whole(left)
        if left:
            raise SourceFailed(
                f"{self.known.name} could not be fetched: {'; '.join(reasons)}. Try again later to"
                " go on where it broke off, or name a mirror of your own with --mirror."
            )

    def _not_whole(self, files: Sequence[File]) -> list[File]:
        recorded = recorded_sums(self.whole)
        return [file for file in files if fault(self.whole / file.name, file, recorded)]

    def _from_archive(self, source: Source, offered: Sequence[File]) -> None:
        archive = self._download(source.address, None, source.unpacked)
        unpacked = self.beside / "unpacked"
        try:
            with explained(self.beside):
                shutil.rmtree(unpacked, ignore_errors=True)
                unpacked.mkdir()
            unpack(archive, offered, unpacked, at_most=source.unpacked)
            for file in offered:
                _check(source.address, unpacked / file.name, file)
            for file in offered:
                self._keep(unpacked / file.name, file)
        except SourceFailed as failure:
            raise SourceFailed(f"nothing of {source.address} was kept, {failure}") from failure
        finally:
            discard(archive)
            shutil.rmtree(unpacked, ignore_errors=True)

    def _file(self, address: str, file: File) -> None:
        path = self._download(address, file.bytes, MOST_UNPUBLISHED)
        try:
            _check(address, path, file)
            self._keep(path, file)
        finally:
            discard(path)

    def _download(self, address: str, exactly: int | None, at_most: int | None) -> Path:
        label = urllib.parse.unquote(address.rsplit("/", 1)[1])
        path = self.partial / hashlib.sha256(address.encode()).hexdigest()[:16]
        download(
            address,
            path,
            exactly=exactly,
            at_most=at_most,
            timeout=self.timeout,
            watch=lambda done, total: self.watch(label, done, total),
        )
        return path

    def _keep(self, path: Path, file: File) -> None:
        with explained(self.beside):
            if file.sha256 is None:
                with (self.whole / SUMS).open("a", encoding="utf-8") as sums:
                    sums.write(f"{sha256_of(path)}  {file.name}\n")
            os.replace(path, self.whole / file.name)

    def _place(self, files: Sequence[File]) -> None:
        """Rename the files into place: the whole folder if there is none yet, or else each file."""
        folder = self.beside.parents[1] / self.known.folder
        if not folder.exists():
            os.rename(self.whole, folder)
            return
        names = [file.name for file in files]
        if (self.whole / SUMS).exists():
            names.append(SUMS)
        for name in names:
            os.replace(self.whole / name, folder / name)


def _check(address: str, path: Path, file: File) -> None:
    wrong = fault(path, file, {})
    if wrong == "damaged":
        raise SourceFailed(f"{address} gave other bytes than published as {file.name}")
    if wrong is not None:
        raise SourceFailed(f"{address} gave a {file.name} that is no whole safetensors file")


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):  # a folder with files stays for the next fetch
            folder.rmdir()


def _mirrored(known: DataSet, mirror: str) -> Source:
    if urllib.parse.urlsplit(mirror).scheme not in SCHEMES:
        raise DataError(f"The mirror {mirror!r} is no address; give one of {', '.join(SCHEMES)}.")
    names: Mapping[str, str] = {file.name: file.name for file in known.files}
    return Source(f"{mirror.rstrip('/')}/{known.folder}/", False, names, 0)


def _quoted(name: str) -> str:
    return urllib.parse.quote(name)
