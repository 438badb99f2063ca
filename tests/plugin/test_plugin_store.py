"""The store of a project: one, wherever pytest is started, and nothing for git."""

import os
import re
import shutil
import subprocess

import pytest

from repro.judge import boundary, simulated
from tests.plugin.sessions import run, trained


@pytest.fixture
def folders(project, monkeypatch):
    """The project as a repository whose claims are in a folder, without a configuration."""
    monkeypatch.delenv("REPRO_STORE")
    (project.path / "claims").mkdir()
    for name in ("line.py", "test_lines.py"):
        shutil.move(project.path / name, project.path / "claims" / name)
    subprocess.run(["git", "init", "-q", project.path], check=True)
    return project


@pytest.mark.parametrize("first", [".", "claims"])
def test_a_project_has_one_store_from_whichever_folder_pytest_is_started(
    folders, first, monkeypatch
):
    counts = []
    for folder in (first, "claims", "."):
        monkeypatch.chdir(folders.path / folder)
        counts.append(trained(run(folders)))
    assert counts == [(32, 32), (32, 0), (32, 0)]
    assert [path.parent for path in folders.path.rglob(".repro")] == [folders.path]


def test_git_ignores_a_store(folders):
    run(folders)
    assert (folders.path / ".repro" / "runs").is_dir()
    shown = subprocess.check_output(["git", "status", "--porcelain"], cwd=folders.path, text=True)
    assert ".repro" not in shown
    assert "claims" in shown
    ignored = folders.path / ".repro" / ".gitignore"
    ignored.write_text("")  # somebody wants it in the repository
    os.utime(ignored)
    run(folders)
    assert ignored.read_text() == ""


def test_a_session_does_not_simulate_what_an_earlier_one_did(project, monkeypatch):
    def simulates(*arguments):
        raise AssertionError(f"simulated again: {arguments}")

    shown = []
    for chance in (boundary.chance_of_crossing, simulates):
        monkeypatch.setattr(simulated, "_found", {})
        boundary.threshold.cache_clear()
        monkeypatch.setattr(boundary, "chance_of_crossing", chance)
        lines = re.findall(r"^(?:reproduced|refuted).*", run(project).stdout.str(), re.M)
        shown.append(sorted(lines))
    assert shown[0]
    assert shown[0] == shown[1]
