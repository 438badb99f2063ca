"""The command in projects with a history: what it finds, and that it touches nothing."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from repro.__main__ import main
from repro.bisect.errors import SearchError
from repro.bisect.history import History
from repro.git import GitError

pytestmark = pytest.mark.thorough

STUDY = '''
"""A line, by a function."""
import random
from dataclasses import dataclass
from typing import ClassVar
from repro.arm import Metric
from repro.own.arm import OutsideArm
from repro.own.outside import OutsideStudy


@dataclass(frozen=True, kw_only=True)
class Line(OutsideArm):
    study: ClassVar[str] = "line"
    metrics: ClassVar[dict] = {"slope": Metric("identity")}
    target: float = 1.0
    data: str = "points"


def train(arm, seed):
    rng = random.Random(seed)
    return {"slope": 1.0 * arm.target + rng.gauss(0, 0.3)}


STUDY = OutsideStudy(train)
'''
CLAIM = """
import pytest
from repro import claim
from line import Line

@claim("a line rises", source="900, Text")
@pytest.mark.parametrize("above", [0.3])
def test_rises(trials, above):
    assert trials(Line()).slope > above
"""
DOCSTRING = ("A line, by a function.", "A line.")
ORDER = ("1.0 * arm.target", "arm.target * 1.0")
BITS = ("random.Random(seed)", "random.Random(seed + 1000)")
GUILTY = ("arm.target * 1.0", "arm.target * 0.2")
BROKEN = ("import random\n", "import random\nimport nowhere\n")


class Project:
    """A git repository whose commits each make one edit of the study."""

    def __init__(self, folder):
        self.folder = folder
        self.names = []
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")
        (folder / "claims").mkdir()
        (folder / "claims" / "test_lines.py").write_text(CLAIM)
        (folder / "line.py").write_text(STUDY)
        (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
        (folder / ".gitignore").write_text(".repro\n__pycache__\n")
        self.commit("A line")

    def git(self, *arguments):
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, subject, *edits):
        study = self.folder / "line.py"
        for old, new in edits:
            assert old in study.read_text()
            study.write_text(study.read_text().replace(old, new))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        self.names.append(self.git("rev-parse", "--short", "HEAD"))

    def state(self):
        files = {path: path.stat().st_mtime_ns for path in self.folder.glob("*.py")}
        return self.git("status", "--porcelain"), self.git("rev-parse", "HEAD"), files


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REPRO_STORE", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return Project(tmp_path)


def test_the_commit_is_found_and_the_users_tree_stays_as_it_is(project, capsys):
    hook = project.folder / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    project.commit("Words", DOCSTRING)
    project.commit("Order", ORDER)
    project.commit("Faster loss", GUILTY)
    project.commit("Other bits", BITS)
    (project.folder / "line.py").write_text("not committed, and no Python")
    before = project.state()
    assert main(["bisect", "900/rises[0.3]", f"{project.names[0]}..main"]) == 0
    said = capsys.readouterr().out
    assert project.state() == before
    assert project.git("worktree", "list").count("\n") == 0
    assert not list(project.folder.rglob("hooked"))
    answer = said.partition("\n\n")[2]
    assert answer.startswith(f"{project.names[3]} ")
    assert "Ann: Faster loss\nis the first commit that changes 900/rises[0.3]\n" in answer
    assert re.search(r"before: line - 0.3 = 0\.6\d* .*12 seeds\nafter:  line - 0.3 = -0", answer)


def test_a_claim_of_joined_findings_is_measured_part_by_part(project, capsys):
    claims = project.folder / "claims" / "test_lines.py"
    alternative = "either(trials(Line()).slope > above, trials(Line()).slope > 2)"
    text = CLAIM.replace("trials(Line()).slope > above", alternative)
    claims.write_text(
        text.replace("import pytest", "import pytest\nfrom repro.judge import either")
    )
    project.commit("Another claim", DOCSTRING)
    project.commit("Faster loss", ("1.0 * arm.target", "arm.target * 0.2"))
    assert main(["bisect", "900/rises[0.3]", f"{project.names[1]}..main"]) == 0
    said = capsys.readouterr().out
    assert "Ann: Faster loss\nis the first commit that changes 900/rises[0.3]\n" in said
    assert re.search(r"before: line - 0.3 = 0\.6.* seeds; line - 2 = -1.* seeds\n", said)


def test_commits_that_compute_the_same_cost_nothing_and_change_nothing(project, capsys):
    project.commit("Words", DOCSTRING)
    project.commit("Order", ORDER)
    node = "claims/test_lines.py::test_rises[0.3]"
    assert main(["bisect", node, f"{project.names[0]}..{project.names[1]}"]) == 0
    said = capsys.readouterr().out
    assert "20 seeds, 20 runs trained" in said
    assert "the same to the last bit" in said
    assert "no commit between changes" in said
    assert len(list((project.folder / ".repro" / "runs").glob("*/*"))) == 20


def test_what_cannot_be_imported_is_left_out_and_said(project, capsys):
    project.commit("Order", ORDER)
    project.commit("Broken", BROKEN)
    project.commit("Still broken", GUILTY)
    project.commit("Mended", BROKEN[::-1])
    project.commit("Words", DOCSTRING)
    assert main(["bisect", "900/rises[0.3]", f"{project.names[1]}..main"]) == 0
    said = capsys.readouterr().out
    assert f"{project.names[2]}  cannot be measured: " in said
    assert "No module named 'nowhere'" in said
    assert "one of these 3 commits changes 900/rises[0.3]:" in said
    assert f"{project.names[3]} was left out: " in said


def test_a_merge_is_named_as_a_whole(project, capsys):
    project.commit("Order", ORDER)
    project.git("checkout", "--quiet", "-b", "side")
    project.commit("Words", DOCSTRING)
    project.commit("Faster loss", GUILTY)
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--no-ff", "--quiet", "--message", "The side", "side")
    merge = project.git("rev-parse", "--short", "HEAD")
    assert main(["bisect", "900/rises[0.3]", f"{project.names[1]}..main"]) == 0
    said = capsys.readouterr().out
    assert f"it is a merge: look inside with bisect {merge}^..{merge}^2" in said


def test_a_claim_that_is_not_there_is_one_sentence(project, capsys):
    project.commit("Words", DOCSTRING)
    assert main(["bisect", "900/falls", f"{project.names[0]}..main"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("The claim cannot be measured at an end of the range: ")
    assert "there is no claim 900/falls" in said
    assert project.git("worktree", "list").count("\n") == 0


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ("main", "is no range of commits"),
        ("..main", "is no range of commits"),
        ("a...main", "is no range of commits"),
        ("nobody..main", "git rev-parse failed"),
        ("main..main", "nothing lies between them"),
        ("other..main", "is no ancestor"),
    ],
)
def test_a_bad_range_is_one_sentence(project, span, reason):
    project.git("checkout", "--quiet", "--orphan", "other")
    project.commit("Another root")
    project.git("checkout", "--quiet", "main")
    with pytest.raises((SearchError, GitError), match=reason):
        History.of(project.folder, span)


def test_where_there_is_no_repository_is_one_sentence(tmp_path):
    with pytest.raises(GitError, match="not a git repository"):
        History.of(tmp_path, "good..bad")


def test_the_users_tree_on_pythons_path_is_the_commits(project, monkeypatch):
    project.commit("Words", DOCSTRING)
    (project.folder / "src").mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(project.folder / "src"), "/elsewhere"]))
    history = History.of(project.folder, f"{project.names[0]}..main")
    with history.worktrees() as trees:
        path = trees.search_path(history.commits[1]).split(os.pathsep)
        there = trees.at(history.commits[1])
        assert path == [str(there), str(there / "src"), "/elsewhere"]
        assert (there / "line.py").read_text() == (project.folder / "line.py").read_text()
    assert not there.exists()
