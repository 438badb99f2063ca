"""Hostile archives: refused in a sentence, within bounds of memory, with nothing outside."""

import gzip
import io
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro.data.archives import MOST_MEMBERS, unpack
from repro.data.download import SourceFailed
from repro.data.registry import File
from tests.attacks.strategies import damaged, is_calm, tars, zips

TEXT = b"words" * 20
KNOWN = File("text", len(TEXT))
UNKNOWN = File("text")
MOST = 2**20

MOST_KILOBYTES = 64 * 2**10
"""What a process may grow by while it unpacks."""


def unpacked(content, file=KNOWN, at_most=MOST):
    """The sentence with which an archive is refused, or None; nothing may lie outside."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "archive").write_bytes(content)
        (folder / "into").mkdir()
        try:
            unpack(folder / "archive", [file], folder / "into", at_most=at_most)
        except SourceFailed as refused:
            sentence = str(refused)
            assert is_calm(sentence)
            assert len(sentence) < 500
        else:
            sentence = None
            assert (folder / "into" / "text").stat().st_size <= at_most
            if file is KNOWN:
                assert (folder / "into" / "text").stat().st_size == len(TEXT)
        assert {path.name for path in folder.iterdir()} == {"archive", "into"}
        assert {path.name for path in (folder / "into").iterdir()} <= {"text"}
        return sentence


@pytest.mark.thorough
@pytest.mark.parametrize(
    "archives",
    [
        damaged(zips(TEXT)),
        damaged(tars(TEXT)).map(lambda content: gzip.compress(content, 1)),
        damaged(tars(TEXT).map(lambda content: gzip.compress(content, 1))),
    ],
    ids=["zip", "tar", "gzip"],
)
@settings(max_examples=150)  # as docs/reliability.md says
@given(data=st.data(), file=st.sampled_from([KNOWN, UNKNOWN]))
def test_any_archive_is_unpacked_or_refused(archives, data, file):
    unpacked(data.draw(archives), file)


def zip_of(
    name="text", content=TEXT, *, packed=TEXT, compression=0, size=None, crc=None, place=0, mode=0
):
    """A zip of one member, with headers that say anything."""
    size = len(content) if size is None else size
    crc = zlib.crc32(content) if crc is None else crc
    name = name.encode()
    about = struct.pack(
        "<HHHHHIIIHH", 20, 0, compression, 0, 0, crc, len(packed), size, len(name), 0
    )
    local = b"PK\x03\x04" + about + name + packed
    where = struct.pack("<HHHII", 0, 0, 0, mode << 16, place)
    central = b"PK\x01\x02\x14\x00" + about + where + name
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + b"PK\x05\x06" + end


def zipped(*members):
    """A zip of names and contents."""
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return to.getvalue()


def deflated(content):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def directory_at(place, size=60):
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, size, place, 0)
    return b"PK\x03\x04" + bytes(100) + b"PK\x05\x06" + end


def header(name, kind, size=0, target=""):
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, target
    return member.tobuf(tarfile.GNU_FORMAT)


def regular(name, content):
    return header(name, tarfile.REGTYPE, len(content)), content


def tar_of(*parts):
    blocks = (part + bytes(-len(part) % 512) for part in parts)
    return gzip.compress(b"".join(blocks) + bytes(1024), 1)


CROWD = b"".join(header(f"m{place}", tarfile.REGTYPE) for place in range(MOST_MEMBERS + 1))
LARGE = bytes(9 * 2**20)
OUTSIDE, LINK = "leads outside its folder", "is a link or a device"
WHOLE = tar_of(*regular("text", TEXT))

REFUSED = {
    "zip: directory far outside": (directory_at(2**31), "damaged"),
    "zip: directory before the start": (directory_at(50, 2**31), "damaged"),
    "zip: directory in itself": (directory_at(104), "damaged"),
    "zip: a member far outside": (zip_of(place=2**31), "damaged"),
    "zip: a member in the directory": (zip_of(place=160), "damaged"),
    "zip: bzip2 junk": (zip_of(compression=12, packed=b"junk" * 9), "an unknown way"),
    "zip: lzma junk": (
        zip_of(compression=14, packed=b"\x09\x14\x05\x00" + b"\xff" * 40),
        "an unknown way",
    ),
    "zip: lzma with a dictionary of 4 GB": (
        zip_of(compression=14, packed=b"\x09\x14\x05\x00\x5d\xff\xff\xff\xff" + bytes(40)),
        "an unknown way",
    ),
    "zip: deflate junk": (zip_of(compression=8, packed=b"\xff" * 40), "damaged"),
    "zip: another checksum": (zip_of(crc=1), "damaged"),
    "zip: less than it says": (zip_of(content=TEXT, packed=TEXT[:5]), "short|damaged"),
    "zip: NUL and up": (zip_of("../x\0text"), OUTSIDE),
    "zip: up and out": (zipped(("text", TEXT), ("../beside", b"!")), OUTSIDE),
    "zip: absolute": (zip_of("/tmp/text"), OUTSIDE),
    "zip: of Windows": (zip_of("..\\text"), OUTSIDE),
    "zip: a drive": (zip_of("C:/text"), OUTSIDE),
    "zip: symbolic link": (zip_of(mode=stat.S_IFLNK | 0o777), LINK),
    "zip: declared bomb": (zipped(("text", LARGE)), f"has {len(LARGE)} bytes where 100"),
    "zip: understated bomb": (zip_of(packed=deflated(LARGE), compression=8), "damaged"),
    "zip: twice": (zipped(("a/text", TEXT), ("b/text", TEXT)), "holds text twice"),
    "zip: a crowd": (
        zipped(*((f"{place}", b"") for place in range(MOST_MEMBERS + 1))),
        "more than the 10000 members|a part of it has",
    ),
    "zip: another file": (zip_of("README"), "lacks text"),
    "zip: truncated": (zip_of()[:-30], "damaged"),
    "a page": (b"<html>please log in</html>", "neither a zip nor a tar.gz"),
    "tar: long property": (
        tar_of(header("p", tarfile.XHDTYPE, 2**17), bytes(2**17)),
        "damaged",
    ),
    "tar: long name": (
        tar_of(header("l", tarfile.GNUTYPE_LONGNAME, 2**17), b"a" * 2**17),
        "damaged",
    ),
    "tar: name of no end": (tar_of(header("l", tarfile.GNUTYPE_LONGNAME, 2**62)), "damaged"),
    "tar: less than no bytes": (tar_of(header("text", tarfile.REGTYPE, -1)), "-1 bytes where"),
    "tar: a size of 600 digits": (
        tar_of(header("p", tarfile.XHDTYPE, 609), b"609 size=" + b"9" * 599 + b"\n",
               *regular("text", b"words")),
        "bytes where 100",
    ),
    "tar: holes": (tar_of(header("text", tarfile.GNUTYPE_SPARSE, 100), TEXT), LINK),
    "tar: up and out by property": (
        tar_of(header("p", tarfile.XHDTYPE, 16), b"16 path=../text\n",
               *regular("text", TEXT)),
        OUTSIDE,
    ),
    "tar: up and out by long name": (
        tar_of(header("l", tarfile.GNUTYPE_LONGNAME, 8), b"../text\0",
               *regular("text", TEXT)),
        OUTSIDE,
    ),
    "tar: a crowd": (gzip.compress(CROWD, 1), "more than the 10000 members"),
    "tar: up and out": (tar_of(*regular("text", TEXT), *regular("../beside", b"!")), OUTSIDE),
    "tar: symbolic link": (tar_of(header("text", tarfile.SYMTYPE, target="/etc/passwd")), LINK),
    "tar: hard link": (
        tar_of(*regular("text", TEXT), header("more", tarfile.LNKTYPE, target="../beside")),
        LINK,
    ),
    "tar: device": (tar_of(header("text", tarfile.CHRTYPE)), LINK),
    "tar: declared bomb": (
        tar_of(*regular("text", LARGE)),
        f"has {len(LARGE)} bytes where 100",
    ),
    "tar: bomb beside": (
        tar_of(*regular("text", TEXT), *regular("more", LARGE)),
        "unpacks to more than the 8388608 bytes",
    ),
    "tar: truncated": (WHOLE[:-30], "damaged"),
    "gzip: endless zeros": (gzip.compress(LARGE), "lacks text"),
    "tar: ends in a member": (gzip.compress(header("text", tarfile.REGTYPE, 100)), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_a_hostile_archive_is_refused(kind):
    content, says = REFUSED[kind]
    said = unpacked(content, at_most=2**23) or ""
    assert any(each in said for each in says.split("|")), said


def test_a_good_archive_of_every_form_is_unpacked(tmp_path):
    (tmp_path / "text").write_bytes(TEXT)
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(tmp_path / "tar.gz", "w:gz", format=form) as archive:
            archive.add(tmp_path / "text", "été")
            archive.add(tmp_path / "text", "folder/" * 12 + "text")
        assert unpacked((tmp_path / "tar.gz").read_bytes()) is None
    assert unpacked(zipped(("README", b"x"), ("deep/er/", b""), ("deep/er/text", TEXT))) is None
    assert unpacked(zip_of("text\0/../x")) is None  # a zip's name ends there, and is not used


def test_a_file_of_unpublished_size_is_bounded_too():
    content = bytes(2 * MOST)
    bomb = zip_of(content=content, packed=deflated(content), compression=8)
    assert "more than the" in unpacked(bomb, UNKNOWN)
    assert "more than the" in unpacked(tar_of(*regular("text", content)), UNKNOWN)


def list_of_holes(out):
    out.write(header("p", tarfile.XHDTYPE, 70))
    out.write(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n26 GNU.sparse.realsize=100\n")
    out.write(bytes(512 - 70) + header("text", tarfile.REGTYPE, 40 * 2**20))
    out.write(b"99999999\n" + b"0\n" * 20 * 2**20)


def global_properties(out):
    for n in range(100_000):
        out.write(header("g", tarfile.XGLTYPE, 100))
        out.write(b"100 k%07d=" % n + b"v" * 86 + b"\n" + bytes(412))


def members(out):
    for n in range(200_000):
        out.write(header(f"m{n}", tarfile.REGTYPE))


def list_of_a_zip(out):
    entry = b"PK\x01\x02" + bytes(24) + struct.pack("<H", 4) + bytes(16) + b"name"
    end = struct.pack("<HHHHIIH", 0, 0, 2**16 - 1, 2**16 - 1, 1_000_000 * len(entry), 4, 0)
    out.write(b"PK\x03\x04" + entry * 1_000_000 + b"PK\x05\x06" + end)


IN_A_CHILD = """
import sys
from pathlib import Path
from repro.data.archives import unpack
from repro.data.download import SourceFailed
from repro.data.registry import File

def peak():  # that of a process that began another is handed on by getrusage
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before, folder = peak(), Path(sys.argv[1])
try:
    unpack(folder / "archive", [File("text", 100)], folder / "into", at_most=2**29)
except SourceFailed:
    print(peak() - before)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("write", [list_of_holes, global_properties, members, list_of_a_zip])
def test_memory_stays_small_whatever_the_headers_say(write, tmp_path):
    (tmp_path / "into").mkdir()
    packed = write is not list_of_a_zip
    path = tmp_path / "archive"
    with gzip.open(path, "wb", compresslevel=1) if packed else path.open("wb") as out:
        write(out)
    asked = [sys.executable, "-c", IN_A_CHILD, str(tmp_path)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) < MOST_KILOBYTES
