"""What differs between the definitions of a commit and those that are here."""

import subprocess
import sys

import pytest

from repro.code import Modules, Root
from repro.code.before import Changes
from repro.code.differences import MOVED, Differences
from repro.git import GitError

FILES = {
    "apart_one.py": "def add(x): return x + 1\n",
    "apart_two.py": "def add(x): return x + 1\n",
    "apart_user.py": "from apart_one import add\ndef use(): return add(2)\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository of three modules, which Python finds; returns a function that runs git in it."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def git(*arguments):
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        command = ["git", *identity, *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return folder

    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "-m", "a commit")
    return git


def differences(project, modules=None):
    changes = Changes.since(project("status"), "HEAD")
    return Differences(modules or Modules(), changes)


USER = Root("apart_user", "use")


def test_an_edit_is_named_and_prose_is_not(project):
    folder = project("status")
    found = differences(project).of([USER])
    assert not found.changed
    assert found.folders == {folder.resolve()}
    (folder / "apart_one.py").write_text("def add(x):\n    '''Add.'''\n    return x + 1\n")
    assert not differences(project).of([USER]).changed
    (folder / "apart_one.py").write_text("def add(x): return x + 2\n")
    assert differences(project).of([USER]).changed == ("apart_one.add",)
    assert not differences(project).of([Root("apart_two")]).changed


def test_the_same_text_in_another_module_is_no_change_of_a_definition(project):
    text = FILES["apart_user.py"].replace("apart_one", "apart_two")
    (project("status") / "apart_user.py").write_text(text)
    assert not differences(project).of([USER]).changed


def test_an_import_of_something_else_by_the_same_name_is_one(project):
    folder = project("status")
    text = "def add(x): return x\ndef plus(x): return x + 1\n"
    (folder / "apart_two.py").write_text(text)
    use = "from apart_two import add, plus\ndef use(): return add(2)\ndef more(): return plus(2)\n"
    (folder / "apart_user.py").write_text(use)
    project("add", "--all")
    project("commit", "--quiet", "-m", "another commit")
    swapped = use.replace("add, plus", "plus as add, add as plus")
    (folder / "apart_user.py").write_text(swapped)
    roots = [USER, Root("apart_user", "more")]
    assert differences(project).of(roots).changed == (MOVED,)


def test_a_new_module_is_named(project):
    (project("status") / "apart_new.py").write_text("NEW = 1\n")
    assert differences(project).of([Root("apart_new")]).changed == ("apart_new",)


def test_a_copy_that_is_installed_elsewhere_is_held_against_the_commit(
    project, tmp_path, monkeypatch
):
    folder = project("status")
    (folder / "apart_one.py").write_text("def add(x): return x + 2\n")
    installed = tmp_path / "installed"
    installed.mkdir()
    for path in folder.glob("*.py"):
        (installed / path.name).write_bytes(path.read_bytes())
    monkeypatch.syspath_prepend(installed)
    assert differences(project).of([USER]).changed == ("apart_one.add",)


def test_files_that_git_does_not_know_yet_count_and_ignored_ones_do_not(project):
    folder = project("status")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "ünseen file.txt").write_text("new")
    (folder / "session.log").write_text("new")
    paths = {path.name for path in Changes.since(folder, "HEAD").paths}
    assert paths == {".gitignore", "ünseen file.txt"}


def test_what_is_no_commit_is_refused(project, tmp_path):
    with pytest.raises(GitError, match="There is no commit --all here: fetch it first"):
        Changes.since(project("status"), "--all")
    with pytest.raises(GitError, match="not a git repository"):
        Changes.since(tmp_path, "HEAD")
