"""The workflow that users copy, and the action: their steps of shell, as they stand."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "claims.yml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {
    "workflow": WORKFLOW["jobs"]["claims"]["steps"],
    "action": ACTION["runs"]["steps"],
}
INPUTS = {f"${{{{ inputs.{name} }}}}": each["default"] for name, each in ACTION["inputs"].items()}
MEANS = {"new": 1, "old": 2}
ROWS = [(arm, seed, mean + seed / 1000) for arm, mean in MEANS.items() for seed in range(5)]
TABLE = "\n".join(["method,seed,loss", *(",".join(map(str, row)) for row in ROWS)])
each_of_both = pytest.mark.parametrize("of", STEPS)


def step(name, of):
    """The step of this name, of the workflow or of the action."""
    [found] = (each for each in STEPS[of] if each.get("name") == name)
    return found


def do(name, folder, of="workflow", **more):
    """Run a step as GitHub does with `shell: bash`, and inputs as they are by default."""
    given = {**WORKFLOW["env"], **step(name, of).get("env", {})}
    environment = {
        **os.environ,
        **{key: INPUTS.get(value, value) for key, value in given.items()},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(folder / "step.md"),
        "GITHUB_ACTION_PATH": str(ROOT),
        **more,
    }
    environment.pop("REPRO_STORE", None)
    if "PIP_EXTRA_INDEX_URL" not in os.environ:  # a mirror, where one is set, has all there is
        environment.pop("PIP_EXTRA_INDEX_URL")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name, of)["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def project(tmp_path):
    """A project with a folder claims/ and no Makefile."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "black_box", folder / "claims")
    (folder / "claims" / "pyproject.toml").rename(folder / "pyproject.toml")
    text = (folder / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text(text.replace('["."]', '["claims"]'))
    return folder


def test_results_are_fetched_whoever_trained_them_and_kept_whatever_happens():
    steps = STEPS["workflow"]
    fetch, keep = (each for each in steps if "cache" in each.get("uses", ""))
    assert fetch["with"]["path"] == keep["with"]["path"] == ".repro"
    assert fetch["with"]["key"] == keep["with"]["key"]
    assert fetch["with"]["key"].startswith(fetch["with"]["restore-keys"])
    assert "run_attempt" in keep["with"]["key"]  # a key that is there already is not written again
    assert "runner." not in keep["with"]["key"]
    assert steps.index(fetch) < steps.index(step("Judge", "workflow")) < steps.index(keep)


@each_of_both
def test_steps_that_tell_the_result_run_after_failures_too(of):
    for name in ("Summarise", "Keep the report", "Keep results"):
        assert step(name, of)["if"] == "always()", name


def test_inputs_reach_the_shell_as_variables_only():
    shells = [each for each in STEPS["action"] if "run" in each]
    assert [each for each in shells if "${{" in each["run"]] == []
    assert {each["shell"] for each in shells} == {"bash"}


@pytest.mark.thorough
@each_of_both
def test_its_steps_judge_and_report(of, project):
    judged = do("Judge", project, of)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "open at 5 seeds" in judged.stdout or "1 passed" in judged.stdout
    assert (project / ".repro").is_dir()
    assert (project / "report" / "index.html").is_file()
    assert 'name="repro.verdict"' in (project / "report/junit.xml").read_text()
    assert do("Summarise", project, of).returncode == 0
    assert (project / "step.md").read_text().startswith("## Claims")


@pytest.mark.thorough
def test_a_table_is_judged_and_shown(tmp_path):
    (tmp_path / "runs.csv").write_text(TABLE)
    for sentences, code, said in (
        ("new.loss < old.loss\n\nold.loss > 1.5", 0, "reproduced    new - old"),
        ("new.loss > old.loss", 1, "refuted       new - old"),
        ("new.loss <", 3, ""),
    ):
        given = {"TABLE": "runs.csv --arm method", "SENTENCES": sentences}
        judged = do("Judge", tmp_path, "action", **given)
        assert judged.returncode == code, judged.stdout + judged.stderr
        assert do("Summarise", tmp_path, "action").returncode == 0
        assert said in (tmp_path / "step.md").read_text()
    assert "is no comparison" in judged.stderr


@pytest.mark.thorough
def test_it_fails_where_a_finding_does_not_hold_any_more(project):
    script = project / "claims" / "train.py"
    script.write_text(script.read_text().replace("average if chosen.average else last", "last"))
    judged = do("Judge", project)
    assert judged.returncode == 1, judged.stdout + judged.stderr
    assert do("Summarise", project).returncode == 0
    assert "failed: 1" in (project / "step.md").read_text()


@pytest.mark.thorough
def test_it_is_not_green_where_there_is_nothing_to_judge(project):
    shutil.rmtree(project / "claims")
    (project / "claims").mkdir()
    assert do("Judge", project).returncode != 0
    assert do("Summarise", project).returncode == 0
    assert "No claim was judged" in (project / "step.md").read_text()


@pytest.mark.thorough
def test_what_it_installs_can_be_imported(tmp_path):
    """In an environment of its own, which sees what repro depends on but not repro's checkout."""
    venv.create(tmp_path / "venv", with_pip=True)
    [packages] = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    path = os.pathsep.join([str(tmp_path / "venv" / "bin"), os.environ["PATH"]])
    done = do("Install", ROOT, PATH=path, PYTHONPATH="")
    if "No matching distribution" in done.stderr:
        pytest.skip("needs a package index, for what builds the wheel")
    assert done.returncode == 0, done.stderr
    where = ["python", "-c", "import repro; print(repro.__file__)"]
    found = subprocess.run(
        where, cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(packages / "repro" / "__init__.py")


def test_the_action_installs_itself_and_what_is_named(tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    given = {"PATH": path, "GITHUB_ACTION_PATH": "/there", "INSTALL": ".[train] other"}
    done = do("Install", tmp_path, "action", **given)
    assert done.stdout.split() == ["-m", "pip", "install", "/there[report]", ".[train]", "other"]
