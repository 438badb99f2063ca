"""Black boxes in a project of their own: what is removed as old, and the commit that is noted."""

import json
import subprocess

import pytest

from tests.evidence.packs import command
from tests.plugin.conftest import OUTSIDE_STUDY
from tests.plugin.sessions import change, run, trained

pytestmark = pytest.mark.thorough

CLAIM = """
from repro import claim
from line import Line

@claim("it is above nothing", source="900")
def test_it(trials):
    assert trials(Line()).slope > 0
"""


@pytest.fixture
def black_box(project, monkeypatch):
    """A project with one claim on a function."""
    project.makepyfile(line=OUTSIDE_STUDY, test_lines=CLAIM)
    monkeypatch.chdir(project.path)
    return project


def test_runs_of_former_code_are_removed_where_that_is_asked_for(black_box):
    needed, now = trained(run(black_box))
    assert needed == now > 0
    change(black_box, "gauss(0.4, 0.3)", "gauss(0.5, 0.3)")
    again = run(black_box)
    assert len(set(trained(again))) == 1
    again.stdout.fnmatch_lines(["* stored runs are trained again: line.train has changed"])
    pruning = ("store", "prune", "--store", "store", "--old-code", "test_lines.py")
    for removed in (needed, 0):
        done = command(*pruning)
        assert done.ret == 0
        done.stdout.fnmatch_lines([f"runs of former code, of 1 arm: {removed} removed"])
    assert trained(run(black_box))[1] == 0


def test_the_commit_is_that_of_the_users_project(black_box):
    git = ["git", "-C", str(black_box.path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "line.py"], ["commit", "-q", "-m", "a study"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    needed, _ = trained(run(black_box))
    stored = [
        json.loads(p.read_text()) for p in black_box.path.glob("store/runs/**/provenance.json")
    ]
    assert {each["commit"] for each in stored} == {head}
    assert len(stored) == needed
