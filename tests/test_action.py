"""The action for workflows on GitHub: its steps of shell, as they stand."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]}
MEANS = {"new": 1, "old": 2}
ROWS = [(arm, seed, mean + seed / 1000) for arm, mean in MEANS.items() for seed in range(5)]
TABLE = "\n".join(["method,seed,loss", *(",".join(map(str, row)) for row in ROWS)])


def do(name, folder, **inputs):
    """Run a step as GitHub does with `shell: bash`, with the inputs that its variables name."""
    given = {key: each["default"] for key, each in ACTION["inputs"].items()} | inputs
    variables = {
        key: str(value).replace("${{ inputs.", "").removesuffix(" }}")
        for key, value in STEPS[name].get("env", {}).items()
    }
    environment = {
        **os.environ,
        **{key: given.get(value, value) for key, value in variables.items()},
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(folder / "step.md"),
        "GITHUB_ACTION_PATH": str(ROOT),
    }
    environment.pop("REPRO_STORE", None)
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_inputs_reach_the_shell_as_variables_only():
    for step in STEPS.values():
        assert "${{" not in step.get("run", ""), step
    for name in ("Summarise", "Keep the report", "Keep results"):
        assert STEPS[name]["if"] == "always()"
    assert {step["shell"] for step in STEPS.values() if "run" in step} == {"bash"}


@pytest.mark.thorough
def test_a_table_is_judged_and_shown(tmp_path):
    (tmp_path / "runs.csv").write_text(TABLE)
    table = "runs.csv --arm method"
    for sentences, code, said in (
        ("new.loss < old.loss\n\nold.loss > 1.5", 0, "reproduced    new - old"),
        ("new.loss > old.loss", 1, "refuted       new - old"),
        ("new.loss <", 3, ""),
    ):
        judged = do("Judge", tmp_path, table=table, sentences=sentences)
        assert judged.returncode == code, judged.stdout + judged.stderr
        assert do("Summarise", tmp_path).returncode == 0
        assert said in (tmp_path / "step.md").read_text()
    assert "is no comparison" in judged.stderr


@pytest.mark.thorough
def test_claims_are_judged_and_reported(tmp_path):
    shutil.copytree(ROOT / "examples" / "black_box", tmp_path / "claims")
    (tmp_path / "claims" / "pyproject.toml").rename(tmp_path / "pyproject.toml")
    text = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(text.replace('["."]', '["claims"]'))
    judged = do("Judge", tmp_path)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert (tmp_path / "report" / "index.html").is_file()
    assert do("Summarise", tmp_path).returncode == 0
    assert (tmp_path / "step.md").read_text().startswith("## Claims")


def test_it_installs_itself_and_what_is_named(tmp_path):
    python = tmp_path / "python"
    python.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": "/there",
        "INSTALL": ".[train] other",
    }
    command = ["bash", "-eo", "pipefail", "-c", STEPS["Install"]["run"]]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["-m", "pip", "install", "/there[report]", ".[train]", "other"]
