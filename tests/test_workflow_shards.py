"""The workflow with a matrix: its jobs judge shards, and one merges them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.oracles import oracle

ROOT = Path(__file__).parents[1]
PATH = ROOT / ".github" / "workflows" / "claims-in-shards.yml"
WORKFLOW = yaml.safe_load(PATH.read_text())
RUNS = {
    (job, step["name"]): step["run"]
    for job, each in WORKFLOW["jobs"].items()
    for step in each["steps"]
    if "run" in step
}


def do(job, name, folder, **more):
    """Run a step as GitHub does with `shell: bash`."""
    environment = {
        **os.environ,
        **WORKFLOW["env"],
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "GITHUB_STEP_SUMMARY": str(folder / "step.md"),
        **more,
    }
    environment.pop("REPRO_STORE", None)
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", RUNS[job, name]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_it_keeps_to_the_grammar_of_workflows():
    oracle("check_jsonschema")
    lint = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*lint, str(PATH)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_matrix_has_every_shard():
    matrix = WORKFLOW["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    assert matrix == list(range(1, int(WORKFLOW["env"]["OF"]) + 1))
    assert WORKFLOW["jobs"]["claims"]["needs"] == "shard"
    assert WORKFLOW["jobs"]["claims"]["if"] == "always()"


@pytest.mark.thorough
def test_its_steps_judge_shards_and_merge_them(tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "black_box", folder / "claims")
    (folder / "claims" / "pyproject.toml").rename(folder / "pyproject.toml")
    text = (folder / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text(text.replace('["."]', '["claims"]'))
    for number in ("1", "2"):
        for name in ("Judge", "Pack"):
            done = do("shard", name, folder, SHARD=number, OF="2")
            assert done.returncode == 0, done.stdout + done.stderr
        shutil.rmtree(folder / ".repro", ignore_errors=True)
    merged = do("claims", "Merge", folder)
    assert merged.returncode == 0, merged.stdout + merged.stderr
    assert (folder / "report" / "index.html").is_file()
    assert do("claims", "Summarise", folder).returncode == 0
    assert (folder / "step.md").read_text().startswith("## Claims")
