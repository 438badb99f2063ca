"""Black boxes in a project of their own: what is trained again, and what a session says of them."""

import json
import re
import subprocess

import pytest

from repro.backends import opened
from repro.runs import identity
from tests.evidence.packs import command
from tests.plugin.conftest import OUTSIDE_STUDY
from tests.plugin.sessions import run, trained

pytestmark = pytest.mark.thorough

ARM, _, _ = OUTSIDE_STUDY.partition("def train")

CLAIM = """
from repro import claim
from line import Line

@claim("it is above nothing", source="900")
def test_it(trials):
    assert trials(Line()).slope > 0
"""


@pytest.fixture
def black_box(project):
    """Write a study, in a function that is given, and a claim about it."""

    def write(function, *, arm=ARM, **files):
        study = f"{arm}\nfrom pathlib import Path\n{function}\nSTUDY = OutsideStudy(train)\n"
        project.makepyfile(line=study, test_lines=CLAIM, **files)
        return project

    return write


def run_anew(project, *arguments):
    """Run a session as another process would: nothing is known of the code."""
    of_code = (
        identity._of_arm,
        identity._code,
        identity._definitions,
        identity._modules,
        identity._libraries,
    )
    for known in (*of_code, opened.project_of):
        known.cache_clear()
    return run(project, *arguments)


def test_runs_of_former_code_are_removed_where_that_is_asked_for(black_box, monkeypatch):
    project = black_box("def train(arm, seed):\n    return {'slope': 1.0 + seed / 100}")
    monkeypatch.chdir(project.path)
    assert trained(run_anew(project)) == (5, 5)
    black_box("def train(arm, seed):\n    return {'slope': 2.0 + seed / 100}")
    assert trained(run_anew(project)) == (5, 5)
    pruning = ("store", "prune", "--store", "store", "--old-code", "test_lines.py")
    for removed in (5, 0):
        done = command(*pruning)
        assert done.ret == 0
        done.stdout.fnmatch_lines([f"runs of former code, of 1 arm: {removed} removed"])
    assert trained(run_anew(project)) == (5, 0)


READS = """import json, script
def train(arm, seed):
    config = json.loads(Path(__file__).with_name("config.json").read_text())
    return {"slope": config["slope"] * script.slope(seed)}
"""


def test_a_module_beside_the_study_and_a_file_that_the_arm_names_are_part_of_the_key(black_box):
    arm = ARM.rstrip() + "\n    reads: ClassVar[tuple] = ('config.json',)\n"
    project = black_box(READS, arm=arm, script="def slope(seed):\n    return 1.0 + seed / 100\n")
    config = project.path / "config.json"
    config.write_text('{"slope": 1.0}')
    first = run_anew(project)
    assert trained(first) == (5, 5)
    assert "does not name" not in first.stdout.str()
    assert trained(run_anew(project)) == (5, 0)
    config.write_text('{"slope": 2.0}')
    assert trained(run_anew(project)) == (5, 5)
    project.makepyfile(script="def slope(seed):\n    return 2.0 + seed / 100\n")
    assert trained(run_anew(project)) == (5, 5)
    config.unlink()
    shown = "".join(run_anew(project).stdout.str().split())  # a long path is broken anywhere
    assert "config.json,whichLinenames" in shown


STARTS = """import json, subprocess, sys
def train(arm, seed):
    said = subprocess.check_output([sys.executable, "say.py"])
    return {"slope": float(said) * json.loads(Path(__file__).with_name("config.json").read_text())}
"""


def test_files_that_the_arm_does_not_name_are_told_by_every_session(black_box):
    project = black_box(STARTS, say="print(1.0)")
    (project.path / "config.json").write_text("1.0")
    for _ in range(2):
        shown = run_anew(project).stdout.str()
        for name in ("config.json", "say.py"):  # a script that a command is given is read too
            assert re.search(rf"Line read .*{name}.*, which it does not name: ", shown)


def test_another_version_of_a_library_is_told(black_box, monkeypatch):
    project = black_box(
        "import filelock\ndef train(arm, seed):\n    return {'slope': 1.0 + seed / 100}"
    )
    known = identity.metadata.version
    newer = {"filelock": "99"}
    assert "was trained with" not in run_anew(project).stdout.str()
    monkeypatch.setattr(identity.metadata, "version", lambda n: newer.get(n) or known(n))
    result = run_anew(project)
    assert trained(result) == (5, 0)
    result.stdout.fnmatch_lines(["Line was trained with filelock *, and 99 is here now: *"])


def test_the_commit_is_that_of_the_users_project(black_box):
    project = black_box("def train(arm, seed):\n    return {'slope': 1.0 + seed / 100}")
    git = ["git", "-C", str(project.path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "line.py"], ["commit", "-q", "-m", "a study"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    run_anew(project)
    stored = [json.loads(p.read_text()) for p in project.path.glob("store/runs/**/provenance.json")]
    assert {each["commit"] for each in stored} == {head}
    assert len(stored) == 5
