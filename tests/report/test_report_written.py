"""A second report leaves nothing of the first behind, and nothing of anybody else is removed."""

import hashlib

import pytest

from repro.report.write import LIST, replace_report


@pytest.fixture
def folder(tmp_path):
    """A folder with the report of two pages, and the list of them."""
    report = tmp_path / "report"
    (report / "claims").mkdir(parents=True)
    replace_report(report, [page(report, "index.html"), page(report, "claims/0001.html")])
    return report


def page(folder, name, content="written here"):
    path = folder / name
    path.write_text(content)
    return path


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_what_the_next_report_does_not_have_is_removed(folder):
    replace_report(folder, [page(folder, "index.html", "anew")])
    assert names(folder) == {"index.html", LIST}
    assert (folder / "index.html").read_text() == "anew"


def test_what_others_wrote_or_changed_stays(folder):
    page(folder, "claims/notes.txt")
    page(folder, "claims/0001.html", "changed by hand")
    replace_report(folder, [])
    assert names(folder) == {"claims", "claims/notes.txt", "claims/0001.html", LIST}


def test_the_list_is_that_of_sha256sum(folder):
    known = hashlib.sha256(b"written here").hexdigest()
    assert (folder / LIST).read_text() == f"{known}  claims/0001.html\n{known}  index.html\n"


def test_a_list_that_names_other_places_removes_nothing_there(folder):
    outside = page(folder.parent, "outside")
    known = hashlib.sha256(outside.read_bytes()).hexdigest()
    for name in ("../outside", "claims/../../outside", str(outside), "a\\b"):
        (folder / LIST).write_text(f"{known}  {name}\n")
        replace_report(folder, [])
        assert outside.exists(), name


def test_a_link_is_not_followed(folder, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    kept = page(there, "0001.html")
    (folder / "claims" / "0001.html").unlink()
    (folder / "claims").rmdir()
    (folder / "claims").symlink_to(there)
    replace_report(folder, [])
    assert kept.exists()


def test_a_damaged_list_is_none(folder):
    for content in (b"", b"\xff\xfe", b"not a list\n"):
        (folder / LIST).write_bytes(content)
        replace_report(folder, [])
        assert "claims/0001.html" in names(folder), content
