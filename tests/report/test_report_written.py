"""A second report leaves nothing of the first behind, and nothing of anybody else is removed."""

import hashlib

import pytest

from repro.report.write import LIST, replace_report


@pytest.fixture
def folder(tmp_path):
    """A folder with a report of two files, and the list of them."""
    report = tmp_path / "report"
    report.mkdir()
    replace_report(report, [page(report, "index.html"), page(report, "figure.svg")])
    return report


def page(folder, name, content="written here"):
    path = folder / name
    path.write_text(content)
    return path


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_what_the_next_report_does_not_have_is_removed(folder):
    known = hashlib.sha256(b"written here").hexdigest()  # as `sha256sum -c` reads it
    assert (folder / LIST).read_text() == f"{known}  figure.svg\n{known}  index.html\n"
    replace_report(folder, [page(folder, "index.html", "anew")])
    assert names(folder) == {"index.html", LIST}
    assert (folder / "index.html").read_text() == "anew"


def test_what_others_wrote_changed_or_linked_stays(folder):
    page(folder, "notes.txt")
    page(folder, "figure.svg", "changed by hand")
    (folder / "index.html").unlink()
    (folder / "index.html").symlink_to(page(folder.parent, "there.html"))
    replace_report(folder, [])
    assert names(folder) == {"notes.txt", "figure.svg", "index.html", LIST}


def test_a_list_that_is_damaged_or_names_other_places_removes_nothing(folder):
    outside = page(folder.parent, "outside")
    known = hashlib.sha256(outside.read_bytes()).hexdigest()
    places = ("../outside", "claims/../../outside", str(outside), "a\\b")
    listed = [f"{known}  {name}\n".encode() for name in places]
    for content in (b"", b"\xff\xfe", b"not a list\n", *listed):
        (folder / LIST).write_bytes(content)
        replace_report(folder, [])
        assert outside.exists(), content
        assert "figure.svg" in names(folder), content
