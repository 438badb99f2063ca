"""The workflow that users copy: it is one, and each of its steps does what it says."""

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
PATH = ROOT / ".github" / "workflows" / "claims.yml"
WORKFLOW = yaml.safe_load(PATH.read_text())
STEPS = WORKFLOW["jobs"]["claims"]["steps"]
RUNS = {step["name"]: step for step in STEPS if "run" in step}
USES = [step for step in STEPS if "uses" in step]


def do(name, folder, **more):
    """Run a step as GitHub does with `shell: bash`."""
    environment = {
        **os.environ,
        **WORKFLOW["env"],
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "GITHUB_STEP_SUMMARY": str(folder / "step.md"),
        **more,
    }
    environment.pop("REPRO_STORE", None)
    if "PIP_EXTRA_INDEX_URL" not in os.environ:  # a mirror, where one is set, has all there is
        environment.pop("PIP_EXTRA_INDEX_URL")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", RUNS[name]["run"]]
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
    fetch, keep = (step for step in USES if "cache" in step["uses"])
    assert fetch["with"]["path"] == keep["with"]["path"] == ".repro"
    assert fetch["with"]["key"] == keep["with"]["key"]
    assert fetch["with"]["key"].startswith(fetch["with"]["restore-keys"])
    assert "run_attempt" in keep["with"]["key"]  # a key that is there already is not written again
    assert "runner." not in keep["with"]["key"]
    assert STEPS.index(fetch) < STEPS.index(RUNS["Judge"]) < STEPS.index(keep)


def test_steps_that_tell_the_result_run_after_failures_too():
    steps = {step.get("name"): step.get("if") for step in STEPS}
    for name in ("Summarise", "Keep the report", "Keep results"):
        assert steps[name] == "always()", name


@pytest.mark.thorough
def test_its_steps_judge_and_report(project):
    judged = do("Judge", project)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "open at 5 seeds" in judged.stdout or "1 passed" in judged.stdout
    assert (project / ".repro").is_dir()
    assert (project / "report" / "index.html").is_file()
    assert 'name="repro.verdict"' in (project / "report/junit.xml").read_text()
    assert do("Summarise", project).returncode == 0
    assert (project / "step.md").read_text().startswith("## Claims")


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
