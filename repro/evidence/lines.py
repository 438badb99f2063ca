"""The lines of an evidence file: JSON, compressed by gzip, sealed by the last one's checksums.

The first line is the head, the last one the seal, which lists the SHA-256 of every line before it.
A file is read as a stream, and read and written within bounds.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from repro.evidence.errors import EvidenceError
from repro.evidence.record import Unsound, arm_and_seed
from repro.files import beside, explained
from repro.text import shown

NAME = "repro evidence"
FORMAT = 2
FORMERLY = 1
"""The format whose keys name the engine; `python -m repro rekey` reads it."""

LONGEST_LINE = 8 * 2**20
MOST_LINES = 500_000
MOST_BYTES = 2**30
"""Bounds of one file, in bytes and lines after decompression, weights and the seal aside."""
MOST_BYTES_OF_WEIGHTS = 2**35

_SEAL = b'{"kind":"seal",'
_BYTES_OF_A_SUM = 67
_LONGEST_SEAL = 100 + _BYTES_OF_A_SUM * MOST_LINES

CUT_OFF = "it is cut off before its end"

LEVEL = 9
"""The compression, part of what makes equal results equal bytes."""


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> str:
    """Write lines and their seal; return the SHA-256 that the file is known by.

    The bytes depend on the lines alone, for one version of zlib. Raises `EvidenceError` where they
    are too many to be read again.
    """
    with (
        explained(
            EvidenceError,
            full=(f"There is no room for {path}", "free some space, or choose another place"),
            refused=(f"{path} cannot be written", "choose a place where you may write"),
        ),
        beside(path) as fresh,
        fresh.open("wb") as file,
        gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as compressed,
    ):
        sums: list[str] = []
        bounds = Bounds()
        for line in lines:
            text = encoded(line)
            if why := bounds.broken_by(text, line):
                raise EvidenceError(
                    f"{path} was not written, since {why}, and could not be read again; pack the"
                    " claims in several files, each for some of their folders or files: --evidence"
                    " takes any number."
                )
            if len(text) > LONGEST_LINE:
                raise EvidenceError(
                    f"{path} was not written, since {_words(line)} takes {len(text)} bytes where"
                    f" {LONGEST_LINE} can be read again; let its study tell fewer values."
                )
            compressed.write(text)
            sums.append(hashlib.sha256(text).hexdigest())
        seal = encoded({"kind": "seal", "lines": sums})
        compressed.write(seal)
    return hashlib.sha256(seal).hexdigest()


def _words(line: dict[str, Any]) -> str:
    """Return what a line holds, in words."""
    is_run = line["kind"] == "run"
    return f"the result of {arm_and_seed(line['identity'])}" if is_run else f"its {line['kind']}"


class Bounds:
    """The bounds of one file, as far as its lines go.

    >>> Bounds().broken_by(b'{"kind":"head"}\\n', {"kind": "head"})
    ''
    """

    def __init__(self) -> None:
        self.lines = 0
        self.sizes = {True: 0, False: 0}

    def broken_by(self, text: bytes, line: dict[str, Any]) -> str:
        """Return which bound one more line breaks; empty where it breaks none."""
        if line["kind"] == "seal":
            return ""
        self.lines += 1
        if self.lines > MOST_LINES:
            return f"it has more than {MOST_LINES} lines"
        is_weights = line["kind"] == "weights"
        self.sizes[is_weights] += len(text)
        most = MOST_BYTES_OF_WEIGHTS if is_weights else MOST_BYTES
        return f"it unpacks to more than {most} bytes" if self.sizes[is_weights] > most else ""


def encoded(line: dict[str, Any]) -> bytes:
    """Return a line as it is written.

    >>> encoded({"b": 1, "a": 0.5})
    b'{"a":0.5,"b":1}\\n'
    """
    text = json.dumps(
        line, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return f"{text}\n".encode()


def decoded(text: bytes) -> dict[str, Any]:
    """Return what a line says; raises `Unsound`.

    >>> decoded(b'{"a": NaN}')
    Traceback (most recent call last):
    repro.evidence.record.Unsound: holds NaN, which is no number
    """
    try:
        line = json.loads(text, parse_constant=_refuse, object_pairs_hook=_object)
    except Unsound:
        raise
    except (ValueError, RecursionError):
        raise Unsound("is not JSON") from None
    if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
        raise Unsound("is no JSON object with a kind")
    return line


def _refuse(constant: str) -> Any:
    raise Unsound(f"holds {constant}, which is no number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; of two values under one name a reader would see only the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Unsound(f"has {shown(twice, most=100)!r} twice in one object")
    return found


def read_lines(
    path: Path, *, formats: Collection[int] | None = (FORMAT,)
) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the lines, raw and parsed, the seal last; raises `EvidenceError`.

    Checksums are compared when the end is reached: nothing counts before that.
    """
    with (
        explained(
            EvidenceError,
            full=("", ""),
            refused=(f"The evidence file {path} cannot be read", "name a file that you may read"),
        ),
        _opened(path) as file,
    ):
        sums: list[str] = []
        is_sealed = False
        for text, line in _bounded(path, file):
            if is_sealed:
                raise damaged(path, "there is more after its last line")
            if not sums:
                _require_head(path, line, formats or (FORMERLY, FORMAT))
            if line["kind"] == "seal":
                _require_sums(path, line, sums)
                is_sealed = True
            sums.append(hashlib.sha256(text).hexdigest())
            yield text, line
        if not is_sealed:
            raise damaged(path, CUT_OFF if sums else "it is empty")


def _opened(path: Path) -> BinaryIO:
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise EvidenceError(f"The evidence file {path} cannot be read: it is not a file.")
    return path.open("rb")


def _bounded(path: Path, file: BinaryIO) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield lines, raw and parsed, while they stay within the bounds."""
    bounds = Bounds()
    for number, text in enumerate(_unpacked(path, file), 1):
        longest = _LONGEST_SEAL if text.startswith(_SEAL) else LONGEST_LINE
        if len(text) > longest:
            raise damaged(path, f"line {number} is longer than {longest} bytes")
        try:
            line = decoded(text)
        except Unsound as why:
            raise damaged(path, f"line {number} {why}") from None
        if broken := bounds.broken_by(text, line):
            raise damaged(path, broken)
        yield text, line


def _unpacked(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield lines, cut off where they are too long."""
    with gzip.GzipFile(fileobj=file, mode="rb") as stream:
        try:
            while text := stream.readline(max(LONGEST_LINE, _LONGEST_SEAL) + 1):
                yield text
        except EOFError:
            raise damaged(path, CUT_OFF) from None
        except (gzip.BadGzipFile, zlib.error):
            raise damaged(path, "it is not whole gzip") from None


def _require_head(path: Path, line: dict[str, Any], formats: Collection[int]) -> None:
    if line["kind"] != "head" or line.get("name") != NAME:
        raise damaged(path, "its first line is not that of evidence")
    if line.get("format") == FORMERLY and FORMERLY not in formats:
        raise EvidenceError(
            f"The evidence file {path} has {line.get('runs')} runs under keys of an earlier"
            f" version; give them today's with: python -m repro rekey {path}"
        )
    if line.get("format") not in formats:
        raise EvidenceError(
            f"The evidence file {path} has format {line.get('format')!r} where this version of"
            f" repro reads {FORMAT}; use the version that packed it, or pack it again."
        )


def _require_sums(path: Path, seal: dict[str, Any], sums: list[str]) -> None:
    written = seal.get("lines")
    if not isinstance(written, list) or len(written) != len(sums):
        raise damaged(path, f"its checksums are not those of {len(sums)} lines")
    wrong = [
        n for n, (there, here) in enumerate(zip(written, sums, strict=True), 1) if there != here
    ]
    if wrong:
        raise damaged(path, f"line {wrong[0]} does not match its checksum")


def damaged(path: Path, why: str) -> EvidenceError:
    """Return the error that says what is wrong within a file."""
    return EvidenceError(
        f"The evidence file {path} cannot be used: {why}; get it again from where it came from."
    )
