"""What hits all arms alike changes no claim: the level of their metric says it."""

import shutil
from pathlib import Path

import pytest

from tests.plugin.sessions import run

pytestmark = pytest.mark.thorough

EXAMPLE = Path(__file__).parents[2] / "examples" / "letters"
CHOSEN = ("-k", "attention_helps", "--seed-budget", "5")


@pytest.fixture
def letters(project):
    """The example, which has its levels in its ledger."""
    for path in project.path.glob("*.py"):
        path.unlink()
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True)
    return project


def judged_with(letters, right, wrong, *options):
    """Judge the claims after a change of the training."""
    study = letters.path / "letters.py"
    assert study.read_text().count(right) == 1
    study.write_text(study.read_text().replace(right, wrong))
    result = run(letters, *CHOSEN, *options)
    result.assert_outcomes(passed=1, deselected=2)
    return result


def test_a_fault_that_hits_all_arms_is_seen(letters):
    warned = judged_with(letters, "is_causal=True", "is_causal=False")
    assert warned.ret == 0
    line = "moved since the ledger: letters val/loss of 1 of 2 arms (letters): *"
    warned.stdout.fnmatch_lines([line])
    assert run(letters, *CHOSEN, "--gate-levels").ret == 1


def test_new_seeds_of_the_same_training_have_moved_nothing(letters):
    seeds = "manual_seed(seed)", "manual_seed(100 + seed)"
    result = judged_with(letters, *seeds, "--gate-levels")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("moved since*")
