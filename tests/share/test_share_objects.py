"""Objects by name, alike in a folder and in what fsspec has."""

import pytest

from repro.share import ShareError
from repro.share.bucket import Bucket
from repro.share.objects import Folder
from tests.oracles import oracle


@pytest.fixture(params=["folder", "memory"])
def either(request, objects, tmp_path):
    if request.param == "folder":
        return objects
    oracle("fsspec")
    return Bucket(f"memory://{tmp_path.name}")


def test_objects_are_written_read_listed_and_removed(either):
    assert either.names("results") == set()
    assert either.read("results/ab/x") is None
    either.write_all({"results/ab/x": b"1", "results/cd/y": b"2"})
    either.write_all({"results/ab/x": b"3"})
    assert either.names("results") == {"ab/x", "cd/y"}
    assert either.read_all(["results/ab/x", "results/no"]) == {"results/ab/x": b"3"}
    either.remove(["results/ab/x", "results/no"])
    assert either.names("results") == {"cd/y"}


def test_one_alone_creates_an_object(either):
    assert either.create("leases/x", b"mine")
    assert not either.create("leases/x", b"yours")
    assert either.read("leases/x") == b"mine"


def test_a_folder_whose_disk_is_gone_is_no_empty_share(tmp_path):
    gone = Folder(tmp_path / "gone")
    for action in (
        lambda: gone.names("results"),
        lambda: gone.read("x"),
        lambda: gone.create("x", b""),
        lambda: gone.write_all({"x": b""}),
    ):
        with pytest.raises(ShareError, match="No such file"):
            action()
    assert not gone.root.exists()


def test_creating_is_tried_again_where_two_are_refused_at_once(monkeypatch, tmp_path):
    oracle("fsspec")
    bucket = Bucket(f"memory://{tmp_path.name}")
    assert bucket.create("leases/x", b"mine")
    refusals = [OSError(22, "ConditionalRequestConflict")] * 2
    write = type(bucket._files).pipe_file

    def refused_twice(files, *arguments, **options):
        if refusals:
            raise refusals.pop()
        return write(files, *arguments, **options)

    monkeypatch.setattr("repro.share.bucket.SECONDS_BETWEEN_ATTEMPTS", 0.0)
    monkeypatch.setattr(type(bucket._files), "pipe_file", refused_twice)
    assert bucket.create("leases/y", b"mine")
    refusals.extend([OSError(5, "a fault of the disk")] * 9)
    with pytest.raises(ShareError, match="a fault of the disk"):
        bucket.create("leases/z", b"mine")
