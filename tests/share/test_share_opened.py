"""The URL of a share: what it cannot be is one sentence that says what to do."""

import pytest

from repro.share import ShareError, objects_at
from repro.share.bucket import Bucket
from repro.share.objects import Folder
from tests.oracles import oracle


def test_a_folder_needs_no_url(tmp_path):
    for url in (str(tmp_path), tmp_path.as_uri()):
        assert isinstance(objects_at(url), Folder)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("/no/such/folder", "make it first"),
        ("file:///no/such/folder", "make it first"),
        ("nonsense://x/y", "no place that fsspec knows"),
        ("s3://", "names no bucket"),
    ],
)
def test_a_bad_url_is_refused_with_a_sentence(url, says):
    oracle("s3fs")
    with pytest.raises(ValueError, match=says) as raised:
        objects_at(url)
    assert "\n" not in str(raised.value)


def test_without_the_extra_the_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="repro-claims\\[share\\]"):
        objects_at("s3://bucket/x")


def test_no_password_is_ever_shown():
    oracle("fsspec")
    bucket = Bucket("ftp://me:hidden@127.0.0.1:9/x")
    assert bucket.name == "ftp://127.0.0.1:9/x"
    with pytest.raises(ShareError) as raised:
        bucket.read("y")
    assert "hidden" not in str(raised.value)
