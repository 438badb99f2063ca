"""Fetching from a real server that misbehaves: one sentence each, and no half-written files."""

import hashlib
import io
import resource
import shutil
import socket
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from repro.__main__ import main
from repro.data.fetch import fetch
from repro.data.inventory import take_inventory
from repro.data.locate import DataError
from repro.data.registry import DataSet, File, Source
from repro.data.safetensors import write_tensors
from tests.unprivileged import unprivileged

ONE, TWO = b"one" * 100_000, b"two" * 1000


def published(**contents):
    return tuple(
        File(f"{name}.txt", len(content), hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    )


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
    files = published(one=ONE, two=TWO)
    names = {file.name: file.name for file in files}
    sources = tuple(Source(f"{server.address}/{at}/", False, names, 0) for at in ("here", "there"))
    for at in ("here", "there"):
        server.contents |= {f"/{at}/one.txt": ONE, f"/{at}/two.txt": TWO}
    return only(DataSet("pair", "A pair", "none", "nobody", "pair", files, sources))


def tree(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def both(server, path, behaviour):
    for at in ("here", "there"):
        server.behaviour[f"/{at}/{path}"] = behaviour


def sentence(error):
    text = str(error.value)
    assert "\n" not in text
    return text


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


def test_wrong_bytes_and_wrong_lengths_are_never_kept(known, data, server):
    says = r"other bytes|are published|more than|broke off"
    for length in (len(ONE), len(ONE) - 1, len(ONE) + 1):
        for behaviour in (None, "no length"):
            for at in ("here", "there"):
                server.contents[f"/{at}/one.txt"] = b"x" * length
            both(server, "one.txt", behaviour)
            with pytest.raises(DataError, match=says) as error:
                fetch("pair")
            sentence(error)
            assert all(path.startswith(".fetching/") for path in tree(data))
    server.contents |= {"/here/one.txt": ONE}
    server.tag = '"second"'
    fetch("pair")
    assert tree(data) == ["pair/one.txt", "pair/two.txt"]


def test_the_second_source_is_asked_for_what_the_first_does_not_have(known, data, server):
    both(server, "two.txt", 503)
    with pytest.raises(DataError):
        fetch("pair")
    assert not (data / "pair").exists()
    server.behaviour.pop("/there/two.txt")
    server.requests.clear()
    fetch("pair")  # the first file came whole and is kept
    assert server.requests == [("/here/two.txt", None), ("/there/two.txt", None)]
    assert tree(data) == ["pair/one.txt", "pair/two.txt"]


def test_a_download_that_breaks_off_goes_on_where_it_was(known, data, server):
    server.behaviour["/here/one.txt"] = lambda seen: "breaks off" if seen < 3 else None
    fetch("pair")
    ranges = [wanted for path, wanted in server.requests if path == "/here/one.txt"]
    assert ranges == [None, "bytes=150000-", "bytes=225000-"]


@pytest.mark.parametrize("behaviour", [None, "ignores ranges"])
def test_the_next_fetch_goes_on_where_the_last_one_broke_off_or_begins_again(
    known, data, server, behaviour
):
    for wrong, says in (("breaks off", "broke off"), ("another range", "at another place")):
        both(server, "one.txt", wrong)
        with pytest.raises(DataError, match=says):
            fetch("pair")
    both(server, "one.txt", behaviour)
    server.requests.clear()
    fetch("pair")
    path, wanted = server.requests[0]
    assert path == "/here/one.txt"
    assert int(wanted.removeprefix("bytes=").removesuffix("-")) > 150_000
    assert (data / "pair" / "one.txt").read_bytes() == ONE


@pytest.mark.parametrize(
    ("before", "after"), [('"first"', '"second"'), ("", ""), ('W/"weak"', 'W/"weak"')]
)
def test_the_rest_of_another_version_is_never_appended(known, data, server, before, after):
    both(server, "one.txt", "breaks off")
    server.contents["/here/one.txt"] = b"old" * 100_000
    server.tag = before
    with pytest.raises(DataError, match="broke off"):
        fetch("pair")
    server.behaviour.clear()
    server.requests.clear()
    server.contents["/here/one.txt"] = ONE
    server.tag = after
    fetch("pair")
    assert (data / "pair" / "one.txt").read_bytes() == ONE
    assert [path for path, _ in server.requests] == ["/here/one.txt", "/here/two.txt"]


def test_a_file_that_grew_shorter_is_fetched_anew(weights, data, server):
    """The server answers 416: it has no more than we have."""
    server.contents["/model.safetensors"] = safetensors(1000)
    server.behaviour["/model.safetensors"] = "breaks off"
    with pytest.raises(DataError, match="broke off"):
        fetch("weights")
    server.behaviour.clear()
    server.contents["/model.safetensors"] = safetensors(90)
    fetch("weights")
    assert (data / "weights" / "model.safetensors").read_bytes() == safetensors(90)


def test_without_any_network(known, data, monkeypatch):
    def nowhere(*arguments, **options):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    with pytest.raises(DataError, match=r"cannot be reached \(Temporary failure in name") as error:
        fetch("pair")
    sentence(error)
    assert list(data.iterdir()) == []


def test_a_mirror_of_ones_own_is_asked_alone(known, data, server):
    server.contents |= {"/mine/pair/one.txt": ONE, "/mine/pair/two.txt": TWO}
    (data / "mine" / "pair").mkdir(parents=True)
    for name, content in (("one.txt", ONE), ("two.txt", TWO)):
        (data / "mine" / "pair" / name).write_bytes(content)
    for mirror in (f"{server.address}/mine", (data / "mine").as_uri()):
        fetch("pair", mirror=mirror)
        assert take_inventory("pair").state == "complete"
        assert all(path.startswith("/mine/") for path, _ in server.requests)
        shutil.rmtree(data / "pair")


def test_a_mirror_that_is_no_address_or_lacks_the_file(known, data):
    for mirror in ("/plain/path", "ftp://there/x", "gibberish"):
        with pytest.raises(DataError, match="is no address; give one of http, https, file"):
            fetch("pair", mirror=mirror)
    with pytest.raises(DataError, match=r"cannot be reached .*No such file"):
        fetch("pair", mirror=(data / "nothing").as_uri())


def test_a_full_disk(known, data):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, limits[1]))
    try:
        with pytest.raises(DataError, match=r"The disk of .* is full \(File too large\)") as error:
            fetch("pair")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sentence(error)
    assert list(data.iterdir()) == []


@pytest.mark.parametrize(("mode", "says"), [(0o555, "written to"), (0o000, "read")])
def test_a_folder_that_is_not_ones_own(known, monkeypatch, mode, says):
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("REPRO_DATA", folder)
        Path(folder).chmod(mode)
        with (
            unprivileged(),
            pytest.raises(DataError, match=rf"cannot be {says} \(Permission") as error,
        ):
            fetch("pair")
        sentence(error)
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


def test_of_an_archive_the_file_alone_is_kept_and_only_if_it_is_the_right_one(server, data, only):
    files = published(one=ONE)
    source = Source(f"{server.address}/set", True, {"one.txt": "one.txt"}, 2**20)
    only(DataSet("packed", "Packed", "none", "nobody", "packed", files, (source,)))

    def pack(content):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("README", b"x")
            archive.writestr("deep/er/one.txt", content)
        server.contents["/set"] = packed.getvalue()

    pack(b"?" * len(ONE))
    with pytest.raises(DataError, match="other bytes than published"):
        fetch("packed")
    assert list(data.iterdir()) == []
    pack(ONE)
    fetch("packed")
    assert tree(data) == ["packed/one.txt"]
    assert (data / "packed" / "one.txt").read_bytes() == ONE


def test_weights_are_checked_by_their_header_and_their_hash_is_recorded(weights, data, server):
    whole = safetensors(90)
    for wrong in (b"<html>not here</html>", whole[:-1], b""):
        server.contents["/model.safetensors"] = wrong
        with pytest.raises(DataError, match="no whole safetensors file"):
            fetch("weights")
        assert list(data.iterdir()) == []
    server.contents["/model.safetensors"] = whole
    fetch("weights")
    assert tree(data) == ["weights/SHA256SUMS", "weights/model.safetensors"]
    assert take_inventory("weights").sha256 == hashlib.sha256(whole).hexdigest()
    (data / "weights" / "model.safetensors").write_bytes(whole[:-1] + b"x")
    assert take_inventory("weights").state == "incomplete: model.safetensors damaged"


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
