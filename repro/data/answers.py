"""Opens addresses of files, with limits on the time and the bytes of a server's answer.

The timeout of a socket only limits the silence between two bytes. So a server that sends a byte now
and then, or endless headers, would block a reader for ever. Here every timeout must bring content,
and at most a megabyte of other bytes.
"""

from __future__ import annotations

import http.client
import io
import math
import socket
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCHEMES = ("http", "https", "file")

SLOWEST = 1000
"""The least bytes of content per second, on average over a timeout."""

OVERHEAD = 2**20
"""The most bytes that are no content within a timeout: headers, sizes of chunks."""


class Dripping(TimeoutError):
    """A server sends, but too slowly."""


def answer(address: str, headers: Mapping[str, str], timeout: float) -> Any:
    """Open an address; raises `OSError`, `HTTPException` or `ValueError` if it fails.

    >>> with answer((folder / "five.txt").as_uri(), {}, 9.0) as opened:
    ...     opened.read()
    b'words'
    """
    request = urllib.request.Request(address, headers={"User-Agent": "repro", **headers})
    if request.type not in SCHEMES:
        raise urllib.error.URLError(f"it is no address of {', '.join(SCHEMES)}")
    opener = urllib.request.OpenerDirector()  # the usual ones also follow a redirection to FTP
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Http(),
        _Https(),
        _PlainFiles(),
    ):
        opener.add_handler(handler)
    return opener.open(request, timeout=timeout)


class _Metered(io.RawIOBase):
    """The bytes from a socket; raises where too few of them are content."""

    def __init__(self, source: Any, timeout: float | None) -> None:
        self._source, self._seconds = source, math.inf if timeout is None else timeout
        self._waited, self._sent, self._content = 0.0, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        began = time.monotonic()
        count: int = self._source.readinto(buffer)
        self._waited += time.monotonic() - began
        self._sent += count
        if self._waited > self._seconds:
            raise Dripping("it sends too slowly")
        if self._sent - self._content > OVERHEAD + io.DEFAULT_BUFFER_SIZE:
            raise http.client.HTTPException("it sends a megabyte that is no content")
        return count

    def bring(self, content: int) -> None:
        """Note that bytes of content were read; if they are enough, the time starts again."""
        self._content += content
        if self._content >= SLOWEST * min(self._seconds, self._waited):
            self._waited, self._sent, self._content = 0.0, 0, 0

    def close(self) -> None:
        self._source.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """An answer with these limits."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self._meter = _Metered(self.fp.detach(), sock.gettimeout())
        self.fp = io.BufferedReader(self._meter)

    def read1(self, n: int = -1) -> bytes:
        content = super().read1(n)
        self._meter.bring(len(content))
        return content


class _Connection(http.client.HTTPConnection):
    response_class = _Response


class _SecureConnection(http.client.HTTPSConnection):
    response_class = _Response


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, request)


class _PlainFiles(urllib.request.FileHandler):
    """Opens plain files only: pipes and devices may not end."""

    def open_local_file(self, request: urllib.request.Request) -> Any:
        path = Path(urllib.request.url2pathname(request.selector))
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise urllib.error.URLError("it is no plain file")
        return super().open_local_file(request)
