"""Hostile archives: refused in a sentence, within bounds of memory, with nothing outside."""

import gzip
import json
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

MOST_MEMORY = 64 * 2**20
"""Bytes that a process may grow by while it unpacks."""


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
@settings(max_examples=150)  # as docs/reliability.md says
@given(damaged(zips(TEXT)), st.sampled_from([KNOWN, UNKNOWN]))
def test_any_zip_is_unpacked_or_refused(content, file):
    unpacked(content, file)


@pytest.mark.thorough
@settings(max_examples=150)
@given(damaged(tars(TEXT)), st.sampled_from([KNOWN, UNKNOWN]))
def test_any_tar_is_unpacked_or_refused(content, file):
    unpacked(gzip.compress(content, 1), file)


@pytest.mark.thorough
@settings(max_examples=50)
@given(damaged(tars(TEXT).map(lambda content: gzip.compress(content, 1))))
def test_any_damaged_gzip_is_unpacked_or_refused(content):
    unpacked(content)


def zip_of(name="text", content=TEXT, *, packed=TEXT, compression=0, size=None, crc=None, place=0):
    """A zip of one member, with headers that say anything."""
    size = len(content) if size is None else size
    crc = zlib.crc32(content) if crc is None else crc
    name = name.encode()
    about = struct.pack(
        "<HHHHHIIIHH", 20, 0, compression, 0, 0, crc, len(packed), size, len(name), 0
    )
    local = b"PK\x03\x04" + about + name + packed
    central = b"PK\x01\x02\x14\x00" + about + struct.pack("<HHHII", 0, 0, 0, 0, place) + name
    end = struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + b"PK\x05\x06" + end


def directory_at(place, size=60):
    return (
        b"PK\x03\x04"
        + bytes(100)
        + b"PK\x05\x06"
        + struct.pack("<HHHHIIH", 0, 0, 1, 1, size, place, 0)
    )


def header(name, kind, size):
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def tar_of(*parts):
    blocks = (part + bytes(-len(part) % 512) for part in parts)
    return gzip.compress(b"".join(blocks) + bytes(1024), 1)


CROWD = b"".join(header(f"m{place}", tarfile.REGTYPE, 0) for place in range(MOST_MEMBERS + 1))

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
    "zip: NUL and up": (zip_of("../x\0text"), "leads outside"),
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
               header("text", tarfile.REGTYPE, 5), b"words"),
        "bytes where 100",
    ),
    "tar: holes": (tar_of(header("text", tarfile.GNUTYPE_SPARSE, 100), TEXT), "link or a device"),
    "tar: up and out by property": (
        tar_of(header("p", tarfile.XHDTYPE, 16), b"16 path=../text\n",
               header("text", tarfile.REGTYPE, 100), TEXT),
        "leads outside",
    ),
    "tar: up and out by long name": (
        tar_of(header("l", tarfile.GNUTYPE_LONGNAME, 8), b"../text\0",
               header("text", tarfile.REGTYPE, 100), TEXT),
        "leads outside",
    ),
    "tar: a crowd": (gzip.compress(CROWD, 1), "more than the 10000 members"),
    "tar: ends in a member": (gzip.compress(header("text", tarfile.REGTYPE, 100)), "damaged"),
}  # fmt: skip


def test_a_hostile_archive_is_refused():
    said = {kind: unpacked(content, at_most=2**23) or "" for kind, (content, _) in REFUSED.items()}
    assert {
        kind: said[kind]
        for kind, (_, says) in REFUSED.items()
        if not any(each in said[kind] for each in says.split("|"))
    } == {}


def test_a_good_archive_of_every_form_is_unpacked(tmp_path):
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        long = "folder/" * 12 + "text"
        (tmp_path / "text").write_bytes(TEXT)
        with tarfile.open(tmp_path / "tar.gz", "w:gz", format=form) as archive:
            archive.add(tmp_path / "text", "été")
            archive.add(tmp_path / "text", long)
        assert unpacked((tmp_path / "tar.gz").read_bytes()) is None
    assert unpacked(zip_of()) is None
    assert unpacked(zip_of("text\0/../x")) is None  # a zip's name ends there, and is not used


def test_a_file_of_unpublished_size_is_bounded_too():
    zeros = zlib.compressobj(wbits=-15)
    content = bytes(2 * MOST)
    packed = zeros.compress(content) + zeros.flush()
    bomb = zip_of(content=content, packed=packed, compression=8)
    assert "more than the" in unpacked(bomb, UNKNOWN)
    assert "more than the" in unpacked(tar_of(header("text", b"0", 2 * MOST), content), UNKNOWN)


BUILDERS = {
    "a list of holes": """
        out.write(header("p", tarfile.XHDTYPE, 70))
        out.write(b"22 GNU.sparse.major=1\\n22 GNU.sparse.minor=0\\n26 GNU.sparse.realsize=100\\n")
        out.write(bytes(512 - 70)); out.write(header("text", tarfile.REGTYPE, 40 * 2**20))
        out.write(b"99999999\\n" + b"0\\n" * 20 * 2**20)""",
    "global properties": """
        for n in range(100_000):
            line = b"100 k%07d=" % n + b"v" * 86 + b"\\n"
            out.write(header("g", tarfile.XGLTYPE, 100)); out.write(line + bytes(412))""",
    "members": """
        for n in range(200_000):
            out.write(header(f"m{n}", tarfile.REGTYPE, 0))""",
    "a zip's list": None,
}
IN_A_CHILD = """
import json, sys
from pathlib import Path
from repro.data.archives import unpack
from repro.data.download import SourceFailed
from repro.data.registry import File

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024

before, folder = peak(), Path(sys.argv[1])
try:
    unpack(folder / "archive", [File("text", 100)], folder / "into", at_most=2**29)
    says = None
except SourceFailed as refused:
    says = str(refused)
print(json.dumps([peak() - before, says]))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("kind", BUILDERS)
def test_memory_stays_small_whatever_the_headers_say(kind, tmp_path):
    (tmp_path / "into").mkdir()
    if kind == "a zip's list":
        entry = b"PK\x01\x02" + bytes(24) + struct.pack("<H", 4) + bytes(16) + b"name"
        size = 1_000_000 * len(entry)
        end = struct.pack("<HHHHIIH", 0, 0, 2**16 - 1, 2**16 - 1, size, 4, 0)
        (tmp_path / "archive").write_bytes(b"PK\x03\x04" + entry * 1_000_000 + b"PK\x05\x06" + end)
    else:
        with gzip.open(tmp_path / "archive", "wb", compresslevel=1) as out:
            code = "if True:" + BUILDERS[kind]
            exec(code, {"out": out, "header": header, "tarfile": tarfile})
    asked = [sys.executable, "-c", IN_A_CHILD, str(tmp_path)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    grown, says = json.loads(done.stdout)
    assert says is not None
    assert grown < MOST_MEMORY


def test_a_zip_of_many_members_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        for place in range(MOST_MEMBERS + 1):
            archive.writestr(f"{place}", b"")
    sentence = unpacked((tmp_path / "zip").read_bytes())
    assert "more than the 10000 members" in sentence or "a part of it has" in sentence
