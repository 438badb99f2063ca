"""Hostile servers: given up in a sentence, within bounds of time, bytes and memory."""

import hashlib
import itertools
import os
import socket
import tempfile
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings

from repro.__main__ import main
from repro.data import command, registry
from repro.data.download import SourceFailed, download
from repro.data.fetch import fetch
from repro.data.locate import DataError
from repro.data.registry import DataSet, File, Source
from tests.attacks.strategies import ANSWERS, is_calm

WORDS = b"words"
TIMEOUT = 0.2
PATIENCE = 1.0
"""The time limit where an answer has to come in time, also from a machine that is busy."""
OK = b"HTTP/1.1 200 OK\r\n"
MOST_PIECES = 3000
"""Pieces that a server sends at most, so that a reader without bounds ends too, but late."""


class Server:
    """A server on this machine that answers each path with the pieces of a script."""

    def __init__(self):
        self.scripts, self.asked = {}, []
        self.stopped = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.stopped.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection:
            try:
                request = connection.recv(2**16)
                path = request.split(b" ")[1].decode() if b" " in request else ""
                self.asked.append(path)
                for piece, pause in itertools.islice(self.scripts.get(path, ()), MOST_PIECES):
                    connection.sendall(piece)
                    if self.stopped.wait(pause) if pause else self.stopped.is_set():
                        return
            except OSError:
                return  # the reader has given up

    def close(self):
        self.stopped.set()
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(5)


@pytest.fixture(scope="module")
def server():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            patch.delenv(name, raising=False)
        started = Server()
        yield started
        started.close()


def at_once(content):
    return [(content, 0)]


def for_ever(piece, pause=0.0, *, first=b""):
    return itertools.chain([(first, 0)], itertools.repeat((piece, pause)))


def chunked(*chunks):
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks)


MB = bytes(2**20)
HOSTILE = {
    "a body without end": lambda: for_ever(MB, first=OK + b"\r\n"),
    "a chunked body without end": lambda: for_ever(
        b"10000\r\n%s\r\n" % bytes(2**16), first=chunked()
    ),
    "a byte now and then": lambda: for_ever(b"x", 0.02, first=OK + b"\r\n"),
    "a byte now and then, in chunks": lambda: for_ever(b"1\r\nx\r\n", 0.02, first=chunked()),
    "a chunk's size without end": lambda: for_ever(b"0", 0.02, first=chunked()),
    "chunks of nothing but words beside": lambda: for_ever(
        b"1;%s\r\nx\r\n" % (b"y" * 60_000), first=chunked()
    ),
    "trailers without end": lambda: for_ever(b"A: b\r\n" * 999, first=chunked(b"0\r\n")),
    "trailers now and then": lambda: for_ever(b"A: b\r\n", 0.02, first=chunked(b"0\r\n")),
    "100 Continue without end": lambda: for_ever(b"HTTP/1.1 100 Continue\r\n\r\n" * 999),
    "100 Continue now and then": lambda: for_ever(b"HTTP/1.1 100 Continue\r\n\r\n", 0.02),
    "headers without end": lambda: for_ever(b"A: b\r\n" * 999, first=OK),
    "headers now and then": lambda: for_ever(b"A", 0.02, first=OK),
    "a header without end": lambda: for_ever(b"a" * 2**16, first=OK + b"A: "),
    "a first line without end": lambda: for_ever(b"a" * 2**16, first=b"HTTP/1.1 200 "),
    "nothing": lambda: [(b"", 9.0)],
    "a length of 5,000 digits": lambda: at_once(
        OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + WORDS
    ),
    "a negative length": lambda: at_once(OK + b"Content-Length: -5\r\n\r\n" + WORDS),
    "a length that is a word": lambda: at_once(OK + b"Content-Length: many\r\n\r\n" + WORDS),
    "a length too long": lambda: at_once(OK + b"Content-Length: 50\r\n\r\n" + WORDS),
    "a length too short": lambda: at_once(OK + b"Content-Length: 3\r\n\r\n" + WORDS),
    "a range of 5,000 digits": lambda: at_once(
        b"HTTP/1.1 206 Part\r\nContent-Range: bytes " + b"9" * 5000 + b"-\r\n\r\n" + WORDS
    ),
    "a circle": lambda: at_once(b"HTTP/1.1 302 Found\r\nLocation: /hostile\r\n\r\n"),
    "a redirection without end": lambda: for_ever(
        MB, first=b"HTTP/1.1 302 Found\r\nLocation: /spare\r\n\r\n"
    ),
    "to ftp": lambda: at_once(b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\n\r\n"),
    "to a file": lambda: at_once(b"HTTP/1.1 302 Found\r\nLocation: file:///etc/hosts\r\n\r\n"),
    "to nowhere": lambda: at_once(b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n"),
    "packed with gzip": lambda: at_once(
        OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8b\x08\x00\x00"
    ),
    "a phrase that steers": lambda: at_once(
        b"HTTP/1.1 503 \x1b[31m\x9b1m\x07\x08\r\xad" + b"x" * 50_000 + b"\r\n\r\n"
    ),
    "no HTTP": lambda: at_once(b"220 welcome\r\n"),
    "a negative chunk": lambda: at_once(chunked(b"-5\r\nwords\r\n0\r\n\r\n") + b"!" * 99),
}  # fmt: skip


@pytest.fixture
def known(server, tmp_path, monkeypatch):
    """A set of one file of five bytes, from `/hostile` or, failing that, `/spare`."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
    file = File("text", len(WORDS), hashlib.sha256(WORDS).hexdigest())
    sources = tuple(
        Source(f"{server.address}/", False, {"text": at}, 0) for at in ("hostile", "spare")
    )
    known = DataSet("texts", "Texts", "none", "nobody", "texts", (file,), sources)
    for module in (registry, command):
        monkeypatch.setattr(module, "data_sets", lambda: {"texts": known})
    server.asked.clear()
    server.scripts = {"/spare": at_once(OK + b"Content-Length: 5\r\n\r\n" + WORDS)}
    return known


QUICK = ["a negative length", "a length too long", "to a file", "to nowhere", "no HTTP"]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.thorough) for kind in HOSTILE],
)
def test_the_next_source_is_asked_soon_after_a_hostile_one(known, server, tmp_path, kind):
    server.scripts["/hostile"] = HOSTILE[kind]()
    began = time.monotonic()
    folder = fetch("texts", timeout=PATIENCE)
    assert time.monotonic() - began < 5 * PATIENCE * 2 + 2
    assert (folder / "text").read_bytes() == WORDS
    assert server.asked[-1] == "/spare"
    assert sorted(p.name for p in (tmp_path / "data").rglob("*")) == ["text", "texts"]


def refusal(address, to, *, exactly=None, at_most=None):
    """The sentence with which a download is given up, or None."""
    try:
        download(address, to, exactly=exactly, at_most=at_most, timeout=TIMEOUT,
                 watch=lambda done, total: None)  # fmt: skip
    except SourceFailed as failure:
        return str(failure)
    return None


def is_a_sentence(words):
    return is_calm(words) and len(words) < 500


ENDS = {
    "packed with gzip", "a length too short", "a redirection without end", "a negative chunk",
}  # fmt: skip
"""Answers that are a file, if a wrong one: nobody has published which is right."""


@pytest.mark.thorough
def test_a_hostile_server_alone_gets_a_sentence(known, server, tmp_path):
    """Without a published size, so that nothing but the bounds of answers ends it."""
    wrong = {}
    for place, (kind, script) in enumerate(HOSTILE.items()):
        server.scripts["/hostile"] = script()
        to = tmp_path / "data" / f"part{place}"
        tracemalloc.start()
        words = refusal(f"{server.address}/hostile", to, at_most=2**22)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        is_told = kind in ENDS if words is None else is_a_sentence(words)
        is_small = peak < 2**24 and (not to.exists() or to.stat().st_size <= 2**22)
        if not (is_told and is_small):
            wrong[kind] = words, peak
    assert wrong == {}


@pytest.mark.thorough
@settings(max_examples=100)  # as docs/reliability.md says
@given(ANSWERS)
def test_any_answer_is_the_file_or_a_sentence(server, answer):
    server.scripts = dict.fromkeys(("/any", "/set", "/other"), at_once(answer))
    with tempfile.TemporaryDirectory() as name:
        to = Path(name) / "part"
        for exactly in (5, None):
            words = refusal(f"{server.address}/any", to, exactly=exactly, at_most=5)
            if words is not None:
                assert is_a_sentence(words)
            elif exactly is not None:
                assert to.stat().st_size == exactly
            assert not to.exists() or to.stat().st_size <= 5
            assert {path.name for path in Path(name).iterdir()} <= {"part", "part.tag"}


def test_a_tag_that_no_header_can_hold_is_forgotten(server, tmp_path):
    for tag in ("\n", "ü", "\r\n b", "\x00", "x" * 70_000, "\udcff"):
        server.scripts = {"/any": at_once(OK + b"Content-Length: 5\r\n\r\n" + WORDS)}
        (tmp_path / "part").write_bytes(b"wo")
        (tmp_path / "part.tag").write_bytes(tag.encode("utf-8", "surrogateescape"))
        assert refusal(f"{server.address}/any", tmp_path / "part", exactly=5) is None, tag[:9]
        assert (tmp_path / "part").read_bytes() == WORDS, tag[:9]


def test_a_mirror_of_no_plain_files_gets_a_sentence(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in ("/dev/zero", "/dev/null", "/proc/self/mem", "/", tmp_path / "pipe"):
        words = refusal(Path(place).as_uri(), tmp_path / "part", exactly=5)
        assert is_a_sentence(words or "\n"), place


PLACES = ["/proc", "/dev/null", "/nowhere/at/all", "/tmp/" + "x" * 5000, "/tmp/\x1b[31m\u202e"]


def test_a_data_folder_that_cannot_be_one_gets_a_sentence(known, server, monkeypatch, capsys):
    for place in PLACES:
        monkeypatch.setenv("REPRO_DATA", place)
        assert main(["data", "fetch"]) == 1
        sentence = capsys.readouterr().err
        assert sentence.count("\n") == 1
        assert is_calm(sentence.strip())
        assert "REPRO_DATA" in sentence
        assert server.asked == []


def test_what_cannot_be_read_in_the_data_folder_gets_a_sentence(
    known, tmp_path, capsys, monkeypatch
):
    folder = tmp_path / "data" / "texts"

    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    folder.mkdir()
    (folder / "text").write_bytes(WORDS)
    monkeypatch.setattr(hashlib, "file_digest", refused)
    assert main(["data"]) == 1
    assert "cannot be read (Permission denied)" in capsys.readouterr().err


def test_damaged_sums_are_none(known, tmp_path):
    sums = tmp_path / "data" / "texts" / "SHA256SUMS"
    sums.parent.mkdir()
    for content in (b"\xff\xfe\x00", b"  \n" * 9, b"", None):
        if content is None:
            sums.unlink()
            sums.mkdir()
        else:
            sums.write_bytes(content)
        with pytest.raises(DataError, match="cannot be reached"):
            fetch("texts", mirror=f"file://{tmp_path}/none", timeout=TIMEOUT)
