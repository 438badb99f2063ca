"""What a report says of its session, and links that tell no secret and no path of a machine."""

from repro.report.results import file_link, project_name, way_from, web_address

BLOB = "https://github.com/some/study/blob/1f2e/"


ADDRESSES = {
    "git@github.com:some/study.git": BLOB,
    "https://github.com/some/study": BLOB,
    "https://github.com/some/study/": BLOB,
    "https://someone:secret@github.com/some/study.git": BLOB,
    "ssh://git@github.com:22/some/study.git": BLOB,
    "https://gitlab.uni.edu/a/b/c.git": "https://gitlab.uni.edu/a/b/c/-/blob/1f2e/",
    "/srv/git/study.git": "",
    "https://example.org/study.git": "",
    "javascript:alert(1)//github.com/x": "",
    "": "",
}


def test_the_address_of_a_remote():
    assert {remote: web_address(remote, "1f2e") for remote in ADDRESSES} == ADDRESSES
    assert web_address("git@github.com:some/study.git", "") == ""


def test_a_report_elsewhere_is_told_no_path(tmp_path):
    project = tmp_path / "project"
    assert way_from(project / "build" / "report", project) == "../../"
    assert way_from(tmp_path / "report", project) == ""
    assert way_from(project, project) == ""


def test_a_link_to_a_line():
    assert file_link(BLOB, "claims/a b.py", 6) == BLOB + "claims/a%20b.py#L7"
    assert file_link("", "claims/it.py", 6) == ""
    assert file_link(BLOB, "../elsewhere.py", 6) == ""
    assert file_link("../", 'javascript:"x', 0) == "../javascript%3A%22x#L1"


def test_a_project_is_called_as_it_calls_itself(tmp_path):
    assert project_name(tmp_path) == tmp_path.name
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "study"\n')
    assert project_name(tmp_path) == "study"
    (tmp_path / "pyproject.toml").write_text("[project\n")
    assert project_name(tmp_path) == tmp_path.name
