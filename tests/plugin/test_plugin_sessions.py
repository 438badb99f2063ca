"""Whole sessions: what is shared, what fails, what is selected, and what a person reads."""

import json
import os
import re
import shutil
import subprocess
import sys

import jsonschema
import pytest

import repro
from repro.store import Store
from tests.plugin.sessions import change, run, run_apart, trained

pytestmark = pytest.mark.thorough


def test_two_sessions_at_once_train_nothing_twice(outside_project):
    change(outside_project, "sleep(0)", "sleep(0.03)")  # so that they meet
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2"]
    both = [
        subprocess.Popen(command, cwd=outside_project.path, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    texts = [process.communicate()[0] for process in both]
    counts = [int(re.search(r"(\d+) trained now", text).group(1)) for text in texts]
    assert sum(counts) == 48
    assert all(re.search(r"^all +2 +1 ", text, re.MULTILINE) for text in texts)


def test_the_plan_trains_nothing_and_needs_no_workers(project):
    result = run_apart(project, "--plan", "-n", "2")
    result.stdout.fnmatch_lines(["4 claims at profile ci, 20 distinct runs*", "*80% power*"])
    assert not list((project.path / "store" / "runs").rglob("result.json"))


def test_stores_in_the_project_are_not_searched_for_tests(project, monkeypatch):
    store = project.path / "store"
    run(project)
    project.makepyfile(**{"store/test_inside": "1 / 0"})
    result = run(project)
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    (folder, *_) = sorted((store / "runs").glob("*/*"))
    (folder / "test_of_a_run.py").write_text("1 / 0")
    (store / "test_inside.py").write_text("def test_beside(): pass")
    shown = run(project, "--store", "another", "--collect-only").stdout.str()
    assert "test_beside" in shown  # of another store, the runs alone
    assert "test_of_a_run" not in shown
    project.makepyfile(**{"store/test_inside": "1 / 0"})
    monkeypatch.delenv("REPRO_STORE")
    assert trained(run(project, "--store", "store")) == (32, 0)
    run(project, str(store / "test_inside.py")).assert_outcomes(errors=1)  # where it is named


FIGURE = """
from repro.marks import figure

@figure("Slopes", source="900, Figure 1", x="target", y="slope")
def test_slopes(plot):
    lines = [Line(target=target) for target in (1.0, 4.0, 9.0)]
    plot.panel("all").line("line", lines, at=[1, 4, 9], documented=[1.0, 4.0, 9.0])
"""


def test_a_report_has_the_curves_and_keys_of_what_was_trained(project):
    claims = project.path / "test_lines.py"
    change(project, "epochs=1", "epochs=3")
    claims.write_text('"""How steep lines are."""\n' + claims.read_text() + FIGURE)
    result = run(project, "--report", "report")
    folder = project.path / "report"
    result.stdout.fnmatch_lines([f"the report is {folder.name}/index.html"])

    results = json.loads((folder / "results.json").read_text())
    schema = json.loads((folder / "results.schema.json").read_text())
    jsonschema.validate(results, schema)
    assert results["session"]["version"] == repro.__version__
    steeper = next(c for c in results["claims"] if c["claim"] == "900/steeper[1.0]")
    (finding,) = steeper["findings"]
    (effect,) = finding["effects"]
    assert len(effect["per_seed"]) == effect["seeds"] == 5
    assert (steeper["about"], steeper["metrics"]) == ("How steep lines are.", ["slope"])
    keys = [key for arm in results["arms"].values() for key in arm["keys"]]
    store = Store(project.path / "store")
    assert len(keys) >= 20
    assert all(store.at(key) for key in keys)

    (line,) = results["figures"][0]["panels"][0]["lines"]
    assert [len(values) > 0 for values in line["values"]] == [True, True, False]
    assert (folder / "slopes.svg").read_text().startswith("<svg")
    page = (folder / "index.html").read_text()
    assert page.count("Learning curves of the arms") >= 2


@pytest.fixture
def folders(project, monkeypatch):
    """The project as a repository whose claims are in a folder, without a configuration."""
    monkeypatch.delenv("REPRO_STORE")
    (project.path / "claims").mkdir()
    for name in ("line.py", "test_lines.py"):
        shutil.move(project.path / name, project.path / "claims" / name)
    subprocess.run(["git", "init", "-q", project.path], check=True)
    return project


def test_a_project_has_one_store_from_whichever_folder_and_git_ignores_it(folders, monkeypatch):
    counts = []
    for folder in ("claims", "."):
        monkeypatch.chdir(folders.path / folder)
        counts.append(trained(run(folders)))
    assert counts == [(32, 32), (32, 0)]
    assert [path.parent for path in folders.path.rglob(".repro")] == [folders.path]
    shown = subprocess.check_output(["git", "status", "--porcelain"], cwd=folders.path, text=True)
    assert ".repro" not in shown
    assert "claims" in shown
    ignored = folders.path / ".repro" / ".gitignore"
    ignored.write_text("")  # somebody wants it in the repository
    os.utime(ignored)
    run(folders)
    assert ignored.read_text() == ""
