"""What an attacker may send, as hypothesis strategies: texts, archives, HTTP answers, results."""

from __future__ import annotations

import io
import tarfile
import unicodedata
import warnings
import zipfile

from hypothesis import strategies as st

STEERING = [
    "\x1b[2J\x1b[1;1H", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\click\x1b]8;;\x1b\\", "\x9b31m",
    "\x9d0;t\x9c", "\x07", "\r", "\x08\x08\x08", "\x00", "\x7f", "\x85", "\x0b", "\x0c", "\u2028",
    "\ud83d", "\udfff", "\u202e", "\u202a", "\u2066", "\u2069", "\u200f", "\u061c", "\u200b",
    "\ufeff", "\xad", "\U000e0041", "\n", "\r\n", "\t",
]  # fmt: skip
"""Characters that move a cursor, colour, link, beep, turn direction, hide, or are half a one."""


MARKUP = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "]]><!-- -->", "</title></text></svg>", "&lt;b&gt;", "{{ 7 * 7 }}", "javascript:alert(1)",
    "a|b", "\\|", "\\", "`", "``", "*b*", "_i_", "~~s~~", "[x](javascript:y)", "![i](http://x/i)",
    "@everyone", "#1", "GH-1", "https://x.example", "www.x.example", "\n# head", "\n| a | b |",
    "\n\n```", "$x$", "<!-- findings: end -->", "\nREPRODUCED   004/forged",
]  # fmt: skip
"""Pieces that are markup somewhere: HTML, SVG, Markdown, a template, our own tables and marks."""

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "=cmd|' /C calc'!A0"]
"""Pieces that a spreadsheet would compute."""

PLAIN = st.text(st.characters(), max_size=6)  # surrogates too
TEXTS = (
    st.lists(
        st.sampled_from(STEERING) | st.sampled_from(MARKUP) | st.sampled_from(FORMULAS) | PLAIN,
        min_size=1,
        max_size=5,
    )
    .map("".join)
    .filter(bool)
)
"""Hostile texts of some pieces."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
SETTINGS = st.dictionaries(TEXTS, JSON, max_size=4)
"""Settings as a file of results may hold them: any JSON."""

NAMES = st.sampled_from(
    ["text", "a/text", "../text", "/tmp/text", "C:/text", "C:text", "\\\\host\\text", "..\\text",
     "text\0/../x", "a\0text", "./text", "a/../text", "text/", "", ".", "..", "\x1b[31mtext",
     "\u202etext", "x" * 300, "sub/" * 100 + "text"]
)  # fmt: skip
"""Names of members, good ones and those that lead elsewhere."""


@st.composite
def damaged(draw, contents):
    """One of these contents with bytes changed, cut out, doubled or cut off."""
    content = bytearray(draw(contents))
    for _ in range(draw(st.integers(0, 4))):
        if not content:
            break
        at = draw(st.integers(0, len(content) - 1))
        end = min(len(content), at + draw(st.sampled_from([1, 2, 4, 8, 64])))
        change = draw(st.sampled_from(["set", "cut", "double", "end", "numbers"]))
        if change == "set":
            content[at:end] = draw(st.binary(min_size=end - at, max_size=end - at))
        elif change == "numbers":  # sizes and places that lead outside
            content[at:end] = draw(st.sampled_from([b"\xff", b"\x00", b"\x80", b"7"])) * (end - at)
        elif change == "cut":
            del content[at:end]
        elif change == "double":
            content[at:at] = content[at:end]
        else:
            del content[at:]
    return bytes(content)


@st.composite
def zips(draw, content):
    """A zip whose members have any name, kind and compression."""
    to = io.BytesIO()
    kinds = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(to, "w") as archive:
        for name in draw(st.lists(NAMES, max_size=4)):
            member = zipfile.ZipInfo("x")
            member.filename = name
            member.compress_type = draw(st.sampled_from(kinds))
            member.external_attr = draw(st.sampled_from([0, 0o100644, 0o120777, 0o020666])) << 16
            archive.writestr(member, draw(st.sampled_from([content, b"", content * 9])))
    return to.getvalue()


@st.composite
def tars(draw, content):
    """An unpacked tar whose members have any name, kind and header."""
    to = io.BytesIO()
    kinds = [tarfile.REGTYPE] * 4 + [
        tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE,
        tarfile.FIFOTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE,
        tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, b"V", b"\xff",
    ]  # fmt: skip
    with tarfile.open(fileobj=to, mode="w") as archive:
        for name in draw(st.lists(NAMES, max_size=4)):
            member = tarfile.TarInfo(name.replace("\0", "_"))
            member.type = draw(st.sampled_from(kinds))
            body = draw(st.sampled_from([content, b"", *PROPERTIES]))
            member.size = draw(st.sampled_from([len(body), len(body), 0, 2**40]))
            archive.fileobj.write(member.tobuf(tarfile.GNU_FORMAT))
            archive.fileobj.write(body + bytes(-len(body) % 512))
    return to.getvalue()


PROPERTIES = [
    b"22 GNU.sparse.major=1\n", b"12 path=../x\n", b"13 path=text\n", b"11 size=-1\n",
    b"14 size=99999\n", b"0 a=b\n", b"-5 a=b\n", b"9999 a=b\n", b"9" * 5000, b"5 a=b", b"\xff" * 30,
    b"12 size=" + b"9" * 600 + b"\n",
]  # fmt: skip
"""Bodies of a tar's extended headers."""

STATUSES = [
    b"HTTP/1.1 200 OK", b"HTTP/1.1 206 Partial", b"HTTP/1.1 100 Continue", b"HTTP/1.1 103 Early",
    b"HTTP/1.1 204 None", b"HTTP/1.1 304 Same", b"HTTP/1.1 302 Found", b"HTTP/1.1 401 No",
    b"HTTP/1.1 416 Range", b"HTTP/1.1 503 \x1b[31m\x9b1m\x07\r", b"HTTP/1.1 999 ",
    b"HTTP/9.9 200 OK", b"HTTP/1.1 -20 X", b"ICY 200 OK", b"\xff\xfe", b"",
    b"HTTP/1.1 404 " + b"x" * 60_000,
]  # fmt: skip
"""First lines of an answer."""

HEADERS = [
    b"Content-Length: 5", b"Content-Length: 50", b"Content-Length: -5", b"Content-Length: x",
    b"Content-Length: " + b"9" * 5000, b"Content-Length: 99999999999999", b"Content-Length: \xb2",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Content-Encoding: gzip",
    b"Content-Range: bytes 0-4/5", b"Content-Range: bytes " + b"9" * 5000 + b"-", b"ETag: \"a\"",
    b"ETag: \"\x0b\x85\xff\"", b"ETag: " + b"e" * 60_000, b"ETag: \"a\r\n b\"", b"Location: /set",
    b"Location: ftp://127.0.0.1/x", b"Location: file:///etc/passwd", b"Location: //\x1b[31m",
    b"Location: http://[::1", b"Connection: close", b"no colon", b": nothing", b"\x00: \x00",
]  # fmt: skip
"""Lines of headers."""

BODIES = [
    b"", b"words", b"5\r\nwords\r\n0\r\n\r\n", b"-5\r\nwords", b"fffffffffffffff\r\nwords",
    b"5;" + b"x" * 60_000 + b"\r\nwords\r\n0\r\n\r\n", b"zz\r\n", b"0\r\nTrailer: x\r\n\r\n",
    b"\x1f\x8b\x08\x00", b"x" * 100,
]  # fmt: skip
"""What follows the headers."""

ANSWERS = st.builds(
    lambda statuses, headers, body: b"".join(
        [*(b"%s\r\n" % line for line in [*statuses, *headers]), b"\r\n", body]
    ),
    st.lists(st.sampled_from(STATUSES), min_size=1, max_size=2),
    st.lists(st.sampled_from(HEADERS), max_size=4),
    st.sampled_from(BODIES),
)
"""Whole answers over HTTP."""


HARMLESS = {"\u200c", "\u200d"}.union(  # joiners, and the visible signs among Unicode's formats
    map(chr, [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD]),
    map(chr, range(0x13430, 0x13460)),
)


def is_calm(text):
    """Whether nothing in it steers, hides or ends the line, by Unicode's own categories."""
    return all(
        unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in HARMLESS for c in text
    )
