"""Downloads one file from one address, up to a largest size; it continues a broken transfer.

If an address fails it raises `SourceFailed`, and the next address is tried. If the disk fails it
raises another `DataError`, which ends the fetch.
"""

from __future__ import annotations

import http.client
import re
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repro.data.answers import SLOWEST, Dripping, answer
from repro.data.disk import explained
from repro.data.locate import DataError
from repro.text import shown

DownloadProgress = Callable[[int, int | None], None]
"""A function of the bytes so far, and of the bytes of the whole file or None."""

ATTEMPTS = 5
"""Attempts at a file whose transfer breaks off, as long as each attempt brings bytes."""

_CHUNK = 2**16
_TAG = re.compile("[ -~]{1,200}")  # safe to send in a header


class SourceFailed(DataError):
    """An address did not give the file; the message says why."""


class _BrokenOff(SourceFailed):
    """A transfer broke off and can be continued."""


def download(
    address: str,
    to: Path,
    *,
    exactly: int | None,
    at_most: int | None = None,
    timeout: float,
    watch: DownloadProgress,
) -> None:
    """Download a file to `to`; if the transfer breaks off, its part and a `.tag` file stay.

    The server may be (nearly) silent for at most `timeout` seconds.

    >>> address = (folder / "five.txt").as_uri()
    >>> download(address, folder / "copy", exactly=5, timeout=9.0, watch=print)
    0 5
    5 5
    """
    for attempt in range(ATTEMPTS):
        before = _size(to)
        try:
            _transfer(address, to, exactly, at_most, timeout, watch)
        except _BrokenOff:
            if _size(to) <= before or attempt + 1 == ATTEMPTS:
                raise
        else:
            return


def discard(to: Path) -> None:
    """Remove the files of a broken download to `to`."""
    for path in (to, _tag_of(to)):
        path.unlink(missing_ok=True)


def _transfer(
    address: str,
    to: Path,
    exactly: int | None,
    at_most: int | None,
    timeout: float,
    watch: DownloadProgress,
) -> None:
    have, tag = _size(to), _tag(to)
    with _open(address, have, tag, timeout, to) as response:
        if not _continues(response, address, have):
            have = 0
        total = _announced(response, address, have)
        if exactly is not None and total not in (None, exactly):
            raise SourceFailed(f"{address} has {total} bytes where {exactly} are published")
        if at_most is not None and total is not None and total > at_most:
            raise SourceFailed(f"{address} has {total} bytes where {at_most} are the most expected")
        limit = min(x for x in (exactly, at_most, total, 2**63) if x is not None)
        with explained(to.parent), to.open("ab" if have else "wb") as file:
            _remember(to, response)
            watch(have, total)
            while chunk := _read(response, address, timeout, have):
                have += len(chunk)
                if have > limit:
                    discard(to)
                    raise SourceFailed(f"{address} sends more than the {limit} bytes it may")
                file.write(chunk)
                watch(have, total)
    whole = exactly if exactly is not None else total
    if whole is not None and have < whole:
        raise _BrokenOff(f"{address} broke off after {have} of {whole} bytes")


def _open(address: str, have: int, tag: str | None, timeout: float, to: Path) -> Any:
    headers = {}
    if have and tag is not None:  # else nothing says that the server still has the same file
        headers = {"Range": f"bytes={have}-", "If-Range": tag}
    try:
        return answer(address, headers, timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:  # there is no more than we have: begin again
            discard(to)
            return _open(address, 0, None, timeout, to)
        raise SourceFailed(f"{address} answers {error.code} ({_said(error.reason)})") from error
    except TimeoutError as error:
        raise SourceFailed(f"{address} did not answer within {timeout:g} s") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise SourceFailed(f"{address} did not answer within {timeout:g} s") from error
        reason = getattr(error.reason, "strerror", None) or error.reason
        raise SourceFailed(f"{address} cannot be reached ({_said(reason)})") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SourceFailed(f"{address} gives no proper answer ({_said(error)})") from error


def _read(response: Any, address: str, timeout: float, have: int) -> bytes:
    try:
        chunk: bytes = response.read1(_CHUNK)  # `read` would lose bytes that came before a stall
        return chunk
    except Dripping as error:
        raise _BrokenOff(
            f"{address} sent less than {SLOWEST} bytes a second after {have} bytes"
        ) from error
    except TimeoutError as error:
        raise _BrokenOff(f"{address} sent nothing for {timeout:g} s after {have} bytes") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _BrokenOff(f"{address} broke off after {have} bytes ({_said(error)})") from error


def _said(reason: object) -> str:
    """Return the message of a server or of the system, to quote in a sentence."""
    return shown(str(reason), most=200)


def _continues(response: Any, address: str, have: int) -> bool:
    """Tell whether the answer continues after `have` bytes, or begins again."""
    if response.status != 206:
        return False
    starts = re.match(r"bytes ([0-9]{1,18})-", response.headers.get("Content-Range", ""))
    if starts is None or int(starts[1]) != have:
        raise SourceFailed(f"{address} goes on at another place than it was asked to")
    return True


def _announced(response: Any, address: str, have: int) -> int | None:
    length = response.headers.get("Content-Length")
    if length is None:
        return None
    if re.fullmatch("[0-9]{1,18}", length) is None:
        raise SourceFailed(f"{address} gives no proper answer (a length of {_said(length)})")
    return have + int(length)


def _remember(to: Path, response: Any) -> None:
    """Note the server's tag of the file, so that a later request continues the same version."""
    tag = response.headers.get("ETag") or ""
    if not tag or tag.startswith("W/"):  # a weak tag does not promise the same bytes
        tag = response.headers.get("Last-Modified") or ""
    _tag_of(to).write_text(tag if _TAG.fullmatch(tag) else "", encoding="utf-8")


def _tag(to: Path) -> str | None:
    try:
        tag = _tag_of(to).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    return tag if _TAG.fullmatch(tag) else None


def _tag_of(to: Path) -> Path:
    return to.with_name(f"{to.name}.tag")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
