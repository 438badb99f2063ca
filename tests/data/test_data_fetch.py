"""Fetching from a real server that misbehaves: one sentence each, and no half-written files."""

import hashlib
import io
import os
import resource
import shutil
import socket
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from repro.__main__ import main
from repro.data.fetch import WAITING, fetch
from repro.data.inventory import take_inventory
from repro.data.locate import DataError
from repro.data.registry import DataSet, File, Source
from repro.data.safetensors import write_tensors
from tests.attacks.strategies import is_calm
from tests.data.conftest import published
from tests.unprivileged import unprivileged

ONE, TWO = b"one" * 100_000, b"two" * 1000


@pytest.fixture
def weights(server, data, only):
    """A set without a published hash."""
    name = "model.safetensors"
    source = Source(f"{server.address}/", False, {name: name}, 0)
    return only(DataSet("weights", "W", "none", "nobody", "weights", (File(name),), (source,)))


def safetensors(size):
    return write_tensors({"w": np.zeros(size, dtype=np.uint8)})


@pytest.fixture
def known(server, data, only):
    """Two files that two places have: `/here/` and `/there/`."""
    files = published({"one.txt": ONE, "two.txt": TWO})
    names = {file.name: file.name for file in files}
    sources = tuple(Source(f"{server.address}/{at}/", False, names, 0) for at in ("here", "there"))
    for at in ("here", "there"):
        server.contents |= {f"/{at}/one.txt": ONE, f"/{at}/two.txt": TWO}
    return only(DataSet("pair", "A pair", "none", "nobody", "pair", files, sources))


@pytest.fixture
def packed(server, data, only):
    """One file of an archive, which may have a megabyte."""
    source = Source(f"{server.address}/set", True, {"one.txt": "one.txt"}, 2**20)
    files = published({"one.txt": ONE})
    return only(DataSet("packed", "Packed", "none", "nobody", "packed", files, (source,)))


def tree(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def both(server, path, behaviour):
    for at in ("here", "there"):
        server.behaviour[f"/{at}/{path}"] = behaviour


def refusal(name, **options):
    """The sentence with which a fetch is given up; nothing of it is left."""
    with pytest.raises(DataError) as error:
        fetch(name, **options)
    assert is_calm(str(error.value))
    assert list(Path(os.environ["REPRO_DATA"]).glob(f"{WAITING}*")) == []
    return str(error.value)


def test_a_damaged_and_a_missing_file_are_replaced_and_the_rest_left_alone(known, data, server):
    assert fetch("pair") == data / "pair"
    assert tree(data) == ["pair/one.txt", "pair/two.txt"]  # and no folder of the fetching
    server.requests.clear()
    fetch("pair")
    assert server.requests == []
    (data / "pair" / "one.txt").write_bytes(b"x" * len(ONE))
    (data / "pair" / "own.txt").write_text("the user's")
    before = (data / "pair" / "two.txt").stat().st_ino
    assert take_inventory("pair").state == "incomplete: one.txt damaged"
    fetch("pair")
    assert tree(data) == ["pair/one.txt", "pair/own.txt", "pair/two.txt"]
    assert take_inventory("pair").state == "complete"
    assert (data / "pair" / "two.txt").stat().st_ino == before


WRONG = {
    "other bytes": (b"x" * len(ONE), None, "other bytes than published"),
    "too few": (ONE[:-1], None, "other bytes than published"),
    "too many": (ONE + b"x", None, f"more than the {len(ONE)} bytes"),
    "too many, of no length": (ONE + b"x", "no length", f"more than the {len(ONE)} bytes"),
    "cut short": (ONE, "breaks off", f"broke off after {len(ONE) // 2} of {len(ONE)} bytes"),
    "cut short, of no length": (ONE[:-9], "no length", "other bytes than published"),
    "no such length": (ONE, "wrong length", "cannot be read"),
    "silence": (ONE, "silent", "cannot be read (timed out)"),
    "no HTTP": (ONE, "no HTTP", "cannot be read"),
    "not there": (ONE, 404, "cannot be read (HTTP Error 404: Not Found)"),
    "a phrase that steers": (ONE, "steers", "cannot be read (HTTP Error 503"),
}
"""What a server sends for the first file, how, and what is said of it."""


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_not_the_file_is_never_kept_and_the_next_source_is_asked(known, data, server, kind):
    content, behaviour, says = WRONG[kind]
    for at in ("here", "there"):
        server.contents[f"/{at}/one.txt"] = content
    both(server, "one.txt", behaviour)
    assert says in refusal("pair", timeout=0.2)
    assert tree(data) == []
    server.contents["/there/one.txt"] = ONE
    server.behaviour.pop("/there/one.txt")
    fetch("pair", timeout=0.2)
    assert server.requests[-3:] == ["/here/one.txt", "/there/one.txt", "/there/two.txt"]
    assert tree(data) == ["pair/one.txt", "pair/two.txt"]
    assert (data / "pair" / "one.txt").read_bytes() == ONE


def test_without_any_network(known, data, monkeypatch):
    def nowhere(*arguments, **options):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    assert "Temporary failure in name resolution" in refusal("pair")
    assert list(data.iterdir()) == []


def test_a_mirror_of_ones_own_is_asked_alone(known, data, server):
    server.contents |= {"/mine/pair/one.txt": ONE, "/mine/pair/two.txt": TWO}
    (data / "mine" / "pair").mkdir(parents=True)
    for name, content in (("one.txt", ONE), ("two.txt", TWO)):
        (data / "mine" / "pair" / name).write_bytes(content)
    for mirror in (f"{server.address}/mine", (data / "mine").as_uri()):
        fetch("pair", mirror=mirror)
        assert take_inventory("pair").state == "complete"
        assert all(path.startswith("/mine/") for path in server.requests)
        shutil.rmtree(data / "pair")


def test_a_mirror_that_is_no_address_or_lacks_the_file(known, data):
    for mirror in ("/plain/path", "ftp://there/x", "gibberish"):
        assert "is no address; give one of http, https, file" in refusal("pair", mirror=mirror)
    assert "No such file" in refusal("pair", mirror=(data / "nothing").as_uri())


def test_a_full_disk(known, data):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, limits[1]))
    try:
        said = refusal("pair")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "is full (File too large)" in said
    assert list(data.iterdir()) == []


@pytest.mark.parametrize(("mode", "says"), [(0o555, "written to"), (0o000, "read")])
def test_a_folder_that_is_not_ones_own(known, monkeypatch, mode, says):
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("REPRO_DATA", folder)
        Path(folder).chmod(mode)
        with unprivileged():
            assert f"cannot be {says} (Permission" in refusal("pair")
        Path(folder).chmod(0o700)
        assert list(Path(folder).iterdir()) == []


def test_two_fetches_at_once_share_one_download(known, data, server):
    both(server, "one.txt", "slow")
    said = []
    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(fetch, "pair", tell=said.append) for _ in range(3)]
    assert [each.result() for each in done] == [data / "pair"] * 3
    assert set(said) == {"Another process is fetching pair; waiting for it."}
    assert len(server.requests) == 2
    assert tree(data) == ["pair/one.txt", "pair/two.txt"]


def test_what_a_killed_fetch_left_is_in_no_ones_way(known, data):
    left = data / WAITING / "pair" / "partial"
    left.mkdir(parents=True)
    (left / "one.txt").write_bytes(ONE + ONE)
    fetch("pair")
    assert tree(data) == ["pair/one.txt", "pair/two.txt"]


def zipped(members):
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return to.getvalue()


def tarred(members):
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return to.getvalue()


ARCHIVES = {
    "of other bytes": ({"one.txt": b"?" * len(ONE)}, "other bytes than published"),
    "that lacks it": ({"README": b"x"}, "lacks one.txt"),
    "of a bomb": ({"one.txt": bytes(2**22)}, f"more than the {len(ONE)} bytes of one.txt"),
    "cut short": (slice(-300), "no whole archive"),
    "that is too large": ({"one.txt": os.urandom(2**21)}, "more than the 1048576 bytes of set"),
}


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_of_an_archive_the_named_file_alone_is_kept_if_it_is_the_right_one(
    packed, server, data, pack
):
    whole = pack({"README": b"x", "../../beside": b"!", "deep/er/one.txt": ONE, "x/one.txt": TWO})
    for kind, (members, says) in ARCHIVES.items():
        damaged = isinstance(members, slice)
        server.contents["/set"] = whole[members] if damaged else pack(members)
        assert says in refusal("packed"), kind
        assert list(data.iterdir()) == []
    server.contents["/set"] = b"<html>please log in</html>"
    assert "no whole archive" in refusal("packed")
    server.contents["/set"] = whole
    fetch("packed")
    assert tree(data) == ["packed/one.txt"]
    assert (data / "packed" / "one.txt").read_bytes() == ONE


def test_weights_are_checked_by_their_header_and_their_hash_is_recorded(weights, data, server):
    whole = safetensors(90)
    for wrong in (b"<html>not here</html>", whole[:-1], b""):
        server.contents["/model.safetensors"] = wrong
        assert "no whole safetensors file" in refusal("weights")
        assert list(data.iterdir()) == []
    server.contents["/model.safetensors"] = whole
    fetch("weights")
    assert tree(data) == ["weights/SHA256SUMS", "weights/model.safetensors"]
    assert take_inventory("weights").sha256 == hashlib.sha256(whole).hexdigest()
    (data / "weights" / "model.safetensors").write_bytes(whole[:-1] + b"x")
    assert take_inventory("weights").state == "incomplete: model.safetensors damaged"
    for damaged in (b"\xff\xfe\x00", b"  \n" * 9, b""):
        (data / "weights" / "SHA256SUMS").write_bytes(damaged)
        assert take_inventory("weights").state == "complete"  # by its header alone


def test_the_command_lists_and_fetches_or_fails_with_the_sentence(known, data, server, capsys):
    both(server, "one.txt", 404)
    assert main(["data", "fetch", "pair"]) == 1
    assert capsys.readouterr().err.startswith("pair could not be fetched: ")
    assert main(["data", "fetch", "pear"]) == 1
    assert "There is no data set 'pear'; choose from pair" in capsys.readouterr().err
    assert main(["data"]) == 0
    assert "not here" in capsys.readouterr().out
    server.behaviour.clear()
    assert main(["data", "fetch"]) == 0
    assert main(["data"]) == 0
    listed = capsys.readouterr().out
    for part in ("complete", str(data / "pair"), known.sha256, "0.3 MB", "none", "nobody"):
        assert part in listed


PLACES = ["/proc", "/dev/null", "/nowhere/at/all", "/tmp/" + "x" * 5000, "/tmp/\x1b[31m\u202e"]


def test_a_data_folder_that_cannot_be_one_gets_a_sentence(known, server, monkeypatch, capsys):
    for place in PLACES:
        monkeypatch.setenv("REPRO_DATA", place)
        assert main(["data", "fetch"]) == 1
        said = capsys.readouterr().err
        assert is_calm(said.removesuffix("\n"))
        assert "REPRO_DATA" in said
        assert server.requests == []


def test_what_cannot_be_read_in_the_data_folder_gets_a_sentence(known, data, capsys, monkeypatch):
    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    fetch("pair")
    monkeypatch.setattr(hashlib, "file_digest", refused)
    assert main(["data"]) == 1
    assert "cannot be read (Permission denied)" in capsys.readouterr().err
