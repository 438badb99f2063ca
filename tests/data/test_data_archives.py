"""Archives that are not trusted: good ones are unpacked, hostile ones are refused."""

import gzip
import hashlib
import io
import shutil
import stat
import struct
import tarfile
import zipfile

import pytest

from repro.data import command, registry
from repro.data.fetch import fetch
from repro.data.locate import DataError
from repro.data.registry import DataSet, File, Source

TEXT = b"the words of the set\n" * 50


@pytest.fixture
def known(server, data, monkeypatch):
    """A set of one file, in an archive at `/set` or, failing that, `/spare`."""
    files = (File("text", len(TEXT), hashlib.sha256(TEXT).hexdigest()),)
    sources = tuple(
        Source(f"{server.address}/{at}", True, {"text": "text"}, 2**20) for at in ("set", "spare")
    )
    known = DataSet("texts", "Texts", "none", "nobody", "texts", files, sources)
    for module in (registry, command):
        monkeypatch.setattr(module, "data_sets", lambda: {"texts": known})
    return known


def zipped(*members, compression=zipfile.ZIP_DEFLATED):
    """A zip of names, or `ZipInfo`s, and contents."""
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return to.getvalue()


def tarred(*members):
    """A tar.gz of names, or `TarInfo`s, and contents."""
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w:gz") as archive:
        for name, content in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if member.isreg():
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return to.getvalue()


def tar_member(name, kind, target=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def zip_member(name, mode):
    member = zipfile.ZipInfo(name)
    member.external_attr = mode << 16
    return member


def understated(size):
    """A zip whose member says it has fewer bytes than it unpacks to."""
    content = zipped(("text", bytes(size)))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(signature) + offset
        content = content[:at] + struct.pack("<I", len(TEXT)) + content[at + 4 :]
    return content


GOOD = {
    "zip": zipped(("README", b"x"), ("deep/er/", b""), ("deep/er/text", TEXT)),
    "tar.gz": tarred(("README", b"x"), ("./deep/text", TEXT), ("last", b"y")),
}

HOSTILE = {
    "zip: up and out": (zipped(("text", TEXT), ("../beside", b"!")), "leads outside its folder"),
    "zip: absolute": (zipped(("/tmp/text", TEXT)), "leads outside its folder"),
    "zip: of Windows": (zipped(("..\\text", TEXT)), "leads outside its folder"),
    "zip: a drive": (zipped(("C:/text", TEXT)), "leads outside its folder"),
    "zip: symbolic link": (
        zipped((zip_member("text", stat.S_IFLNK | 0o777), b"/etc/passwd")),
        "'text' is a link or a device",
    ),
    "zip: declared bomb": (zipped(("text", bytes(5_000_000))), "has 5000000 bytes where 1050"),
    "zip: understated bomb": (understated(5_000_000), "damaged"),
    "tar: up and out": (tarred(("text", TEXT), ("../beside", b"!")), "leads outside its folder"),
    "tar: symbolic link": (
        tarred((tar_member("text", tarfile.SYMTYPE, "/etc/passwd"), b"")),
        "'text' is a link or a device",
    ),
    "tar: hard link": (
        tarred(("text", TEXT), (tar_member("more", tarfile.LNKTYPE, "../beside"), b"")),
        "'more' is a link or a device",
    ),
    "tar: device": (tarred((tar_member("text", tarfile.CHRTYPE), b"")), "is a link or a device"),
    "tar: declared bomb": (tarred(("text", bytes(5_000_000))), "has 5000000 bytes where 1050"),
    "tar: bomb beside": (
        tarred(("text", TEXT), ("more", bytes(5_000_000))),
        "unpacks to more than the 1048576 bytes",
    ),
    "gzip: endless zeros": (gzip.compress(bytes(5_000_000)), "lacks text"),
    "truncated zip": (GOOD["zip"][:-30], "damaged"),
    "truncated tar": (GOOD["tar.gz"][:-30], "damaged"),
    "other bytes": (zipped(("text", b"?" * len(TEXT))), "other bytes than published"),
    "no such file": (zipped(("README", b"x")), "lacks text"),
    "no archive": (b"<html>please log in</html>", "neither a zip nor a tar.gz"),
}


def test_the_file_is_found_in_whatever_folder(known, data, server):
    for content in GOOD.values():
        server.contents["/set"] = content
        fetch("texts")
        assert (data / "texts" / "text").read_bytes() == TEXT
        assert [p.name for p in data.rglob("*")] == ["texts", "text"]
        shutil.rmtree(data / "texts")


def test_a_hostile_archive_is_refused_in_one_sentence(known, data, server):
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = zipped(("a/text", TEXT), ("a/text", TEXT))
    for name, (content, says) in {**HOSTILE, "zip: twice": (twice, "holds text twice")}.items():
        server.contents["/set"] = content
        with pytest.raises(DataError, match=says) as error:
            fetch("texts")
        assert "\n" not in str(error.value), name
        assert list(data.iterdir()) == [], name
