"""Entries of the ledger whose claims are gone."""

import pytest

from tests.plugin.sessions import run, run_apart


def renamed(project, claims="test_lines.py"):
    """Accept all verdicts, and rename a claim that was reproduced."""
    run(project, "--update-ledger")
    path = project.path / claims
    path.write_text(path.read_text().replace("test_steeper", "test_more_steep"))


def test_a_renamed_claim_fails_the_gate_and_goes_with_an_update(project):
    renamed(project)
    result = run(project)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*test_lines.toml has entries without a claim: 900/steeper[[]1.0], 900/steeper[[]2.0]. *"]
    )
    result = run(project, "--update-ledger")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*entries without a claim were removed: 900/steeper*"])
    assert "900/steeper[" not in (project.path / "ledger" / "test_lines.toml").read_text()
    assert "900/flatter" in (project.path / "ledger" / "test_lines.toml").read_text()
    assert run(project).ret == 0


@pytest.mark.parametrize("selected", [("test_lines.py",), ("test_lines.py::test_flatter",)])
def test_a_file_is_not_all_claims_of_its_folder(project, selected):
    renamed(project)
    result = run(project, *selected)
    assert result.ret == 0
    assert "without a claim" not in result.stdout.str()


def test_claims_that_are_deselected_are_there(project):
    run(project, "--update-ledger")
    result = run(project, "-k", "flatter")
    assert result.ret == 0
    assert "without a claim" not in result.stdout.str()


@pytest.mark.thorough
def test_a_renamed_claim_fails_the_gate_of_workers_too(outside_project):
    renamed(outside_project)
    result = run_apart(outside_project, "-n", "2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*has entries without a claim: 900/steeper*"])
