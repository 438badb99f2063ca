"""The projects that `python -m repro new` writes run as they stand, and again from the store."""

import os
import tomllib
from pathlib import Path

import pytest
import yaml

import repro
from repro.__main__ import main
from repro.commands.new import KINDS

CHECKOUT = Path(repro.__file__).parents[1]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_project_runs(pytester, monkeypatch, kind):
    monkeypatch.chdir(pytester.path)
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "repro.plugin.plugin,xdist.plugin")
    assert main(["new", "dot_try", "--kind", kind]) == 0
    os.chdir(pytester.path / "dot_try")
    result = pytester.runpytest_subprocess("--update-ledger")
    result.assert_outcomes(passed=1)
    entries = tomllib.loads(Path("ledger/test_dot_try.toml").read_text())["claim"]
    assert [entry["verdict"] for entry in entries] == ["reproduced"]
    command = yaml.safe_load(Path(".github/workflows/claims.yml").read_text())
    judging = command["jobs"]["claims"]["steps"][-1]["run"].split()
    assert judging == ["pytest", "--gate", "--require-verdict"]
    again = pytester.runpytest_subprocess(*judging[1:])
    again.assert_outcomes(passed=1)
    trained_now = ["* distinct runs needed: 0 trained now, the rest stored"]
    again.stdout.fnmatch_lines([] if kind == "recorded" else trained_now)
    assert "does not name" not in again.stdout.str()
    assert Path(".github/workflows/claims.yml").is_file()


def test_a_folder_that_is_there_is_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert main(["new", "mine"]) == 1
    assert "mine is there already" in capsys.readouterr().err
    assert not list((tmp_path / "mine").iterdir())


@pytest.mark.parametrize("name", ["random", "class", "a b"])
def test_a_name_that_no_module_can_have_is_refused(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    assert main(["new", name]) == 1
    assert "name of a Python module" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
