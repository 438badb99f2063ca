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
    replace_report(folder, [page(folder, "index.html", "anew")])
    assert names(folder) == {"index.html", LIST}
    assert (folder / "index.html").read_text() == "anew"


def test_what_others_wrote_or_changed_stays(folder):
    page(folder, "notes.txt")
    page(folder, "figure.svg", "changed by hand")
    replace_report(folder, [])
    assert names(folder) == {"notes.txt", "figure.svg", LIST}


def test_the_list_is_that_of_sha256sum(folder):
    known = hashlib.sha256(b"written here").hexdigest()
    assert (folder / LIST).read_text() == f"{known}  figure.svg\n{known}  index.html\n"


def test_a_list_that_names_other_places_removes_nothing_there(folder):
    outside = page(folder.parent, "outside")
    known = hashlib.sha256(outside.read_bytes()).hexdigest()
    for name in ("../outside", "claims/../../outside", str(outside), "a\\b"):
        (folder / LIST).write_text(f"{known}  {name}\n")
        replace_report(folder, [])
        assert outside.exists(), name


def test_a_link_is_not_removed(folder):
    (folder / "figure.svg").unlink()
    (folder / "figure.svg").symlink_to(page(folder.parent, "there.svg"))
    replace_report(folder, [])
    assert (folder / "figure.svg").is_symlink()


def test_a_damaged_list_is_none(folder):
    for content in (b"", b"\xff\xfe", b"not a list\n"):
        (folder / LIST).write_bytes(content)
        replace_report(folder, [])
        assert "figure.svg" in names(folder), content
