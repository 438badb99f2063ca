"""Hostile servers: given up in a sentence, within bounds of time, bytes and memory."""

import hashlib
import itertools
import os
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings

from repro.__main__ import main
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


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
MB = bytes(2**20)

WITHOUT_END = {
    "a body": (OK + b"\r\n", MB, 0),
    "a chunked body": (CHUNKED, b"10000\r\n%s\r\n" % bytes(2**16), 0),
    "a byte now and then": (OK + b"\r\n", b"x", 0.02),
    "a byte now and then, in chunks": (CHUNKED, b"1\r\nx\r\n", 0.02),
    "a chunk's size": (CHUNKED, b"0", 0.02),
    "chunks of nothing but words beside": (CHUNKED, b"1;%s\r\nx\r\n" % (b"y" * 60_000), 0),
    "trailers": (CHUNKED + b"0\r\n", b"A: b\r\n" * 999, 0),
    "trailers now and then": (CHUNKED + b"0\r\n", b"A: b\r\n", 0.02),
    "100 Continue": (b"", CONTINUE * 999, 0),
    "100 Continue now and then": (b"", CONTINUE, 0.02),
    "headers": (OK, b"A: b\r\n" * 999, 0),
    "headers now and then": (OK, b"A", 0.02),
    "a header": (OK + b"A: ", b"a" * 2**16, 0),
    "a first line": (b"HTTP/1.1 200 ", b"a" * 2**16, 0),
    "nothing": (b"", b"", 9.0),
    "half of it, and nothing more": (OK + b"Content-Length: 5\r\n\r\nwo", b"", 9.0),
    "a redirection": (b"HTTP/1.1 302 Found\r\nLocation: /spare\r\n\r\n", MB, 0),
}
"""What is sent first, and what then, with so many seconds after each."""

AT_ONCE = {
    "a length of 5,000 digits": OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + WORDS,
    "a negative length": OK + b"Content-Length: -5\r\n\r\n" + WORDS,
    "a length that is a word": OK + b"Content-Length: many\r\n\r\n" + WORDS,
    "a length too long": OK + b"Content-Length: 50\r\n\r\n" + WORDS,
    "a length too short": OK + b"Content-Length: 3\r\n\r\n" + WORDS,
    "a range of 5,000 digits": (
        b"HTTP/1.1 206 Part\r\nContent-Range: bytes " + b"9" * 5000 + b"-\r\n\r\n" + WORDS
    ),
    "a circle": b"HTTP/1.1 302 Found\r\nLocation: /hostile\r\n\r\n",
    "to ftp": b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\n\r\n",
    "to a file": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/hosts\r\n\r\n",
    "to nowhere": b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
    "packed with gzip": (
        OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8b\x08\x00\x00"
    ),
    "a phrase that steers": (
        b"HTTP/1.1 503 \x1b[31m\x9b1m\x07\x08\r\xad" + b"x" * 50_000 + b"\r\n\r\n"
    ),
    "not here": b"HTTP/1.1 404 Not Found\r\n\r\n",
    "no HTTP": b"220 welcome\r\n",
    "a negative chunk": CHUNKED + b"-5\r\nwords\r\n0\r\n\r\n" + b"!" * 99,
}

ENDS = ["packed with gzip", "a length too short", "a redirection", "a negative chunk"]
"""Answers that are a file, if a wrong one: where no size is published, they are taken."""


def script(kind):
    if kind in AT_ONCE:
        return [(AT_ONCE[kind], 0)]
    first, piece, pause = WITHOUT_END[kind]
    return itertools.chain([(first, 0)], itertools.repeat((piece, pause)))


@pytest.fixture
def known(server, data, only):
    """A set of one file of five bytes, from `/hostile` or, failing that, `/spare`."""
    file = File("text", len(WORDS), hashlib.sha256(WORDS).hexdigest())
    sources = tuple(
        Source(f"{server.address}/", False, {"text": at}, 0) for at in ("hostile", "spare")
    )
    server.contents["/spare"] = WORDS
    return only(DataSet("texts", "Texts", "none", "nobody", "texts", (file,), sources))


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


QUICK = ["a negative length", "a length too long", "to a file", "to nowhere", "not here", "no HTTP"]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.thorough)
        for kind in [*WITHOUT_END, *AT_ONCE]
    ],
)
def test_a_hostile_server_is_given_up_soon_in_a_sentence_and_the_next_is_asked(
    known, server, data, kind
):
    server.scripts["/hostile"] = script(kind)
    began = time.monotonic()
    folder = fetch("texts", timeout=PATIENCE)
    assert time.monotonic() - began < 5 * PATIENCE * 2 + 2
    assert (folder / "text").read_bytes() == WORDS
    assert server.requests[-1][0] == "/spare"
    assert sorted(p.name for p in data.rglob("*")) == ["text", "texts"]

    server.scripts["/hostile"] = script(kind)  # now nothing but the bounds of answers ends it
    tracemalloc.start()
    words = refusal(f"{server.address}/hostile", data / "part", at_most=2**22)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kind in ENDS if words is None else is_a_sentence(words)
    assert peak < 2**24
    assert not (data / "part").exists() or (data / "part").stat().st_size <= 2**22


@pytest.mark.thorough
@settings(max_examples=100)  # as docs/reliability.md says
@given(ANSWERS)
def test_any_answer_is_the_file_or_a_sentence(server, answer):
    server.scripts = {path: [(answer, 0)] for path in ("/any", "/set", "/other")}
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
        server.contents["/any"] = WORDS
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
        assert server.requests == []


def test_what_cannot_be_read_in_the_data_folder_gets_a_sentence(known, data, capsys, monkeypatch):
    folder = data / "texts"

    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    folder.mkdir()
    (folder / "text").write_bytes(WORDS)
    monkeypatch.setattr(hashlib, "file_digest", refused)
    assert main(["data"]) == 1
    assert "cannot be read (Permission denied)" in capsys.readouterr().err


def test_damaged_sums_are_none(known, data):
    sums = data / "texts" / "SHA256SUMS"
    sums.parent.mkdir()
    for content in (b"\xff\xfe\x00", b"  \n" * 9, b"", None):
        if content is None:
            sums.unlink()
            sums.mkdir()
        else:
            sums.write_bytes(content)
        with pytest.raises(DataError, match="cannot be reached"):
            fetch("texts", mirror=f"file://{data}/none", timeout=TIMEOUT)
