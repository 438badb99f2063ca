"""Training that is to be seen: it prints, breakpoint() stops in it, --pdb lands where it raised."""

import subprocess
import sys

import pytest

from tests.plugin.sessions import change

pytestmark = pytest.mark.thorough

DEEP = """print("a word of training")
    deep = seed + 40
    {what}
"""


@pytest.fixture
def project(outside_project):
    outside_project.makeini("[pytest]")
    return outside_project


def typed(project, words, *command):
    """What a command prints while somebody types, a line each time that it asks."""
    started = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project.path,
        input=words,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return started.stdout, started.returncode


def test_a_breakpoint_stops_in_training_that_is_seen(project):
    change(project, "time.sleep(0)", DEEP.format(what="breakpoint() if arm.target == 4 else 0"))
    words = "p deep\n" + 40 * "c\n"
    chosen = ("-k", "flatter", "--seed-budget", "2", "-p", "no:cacheprovider")
    shown, _ = typed(project, words, "pytest", "-s", *chosen)
    assert "a word of training" in shown
    assert "(Pdb) 41" in shown


def test_pdb_lands_where_training_raised(project):
    change(project, "time.sleep(0)", DEEP.format(what="1 / (seed - 2)"))
    command = ("-k", "flatter", "-p", "no:cacheprovider", "--pdb")
    shown, code = typed(project, "p deep\nq\n", "pytest", *command)
    assert code != 0
    assert "(Pdb) 42" in shown


def test_a_command_trains_with_the_module_path_that_settings_name(project):
    change(project, "time.sleep(0)", "import scale")
    project.makeini("[pytest]\npythonpath = src")
    project.mkdir("src").joinpath("scale.py").write_text("SCALE = 2.0\n")
    (project.path / "line.py").rename(project.path / "src" / "line.py")
    typed(project, "", "pytest", "-k", "flatter", "-n", "0")
    typed(project, "", "repro", "evidence", "pack", "lines.jsonl.gz", ".", "-k", "flatter")
    shown, code = typed(project, "", "repro", "evidence", "audit", "lines.jsonl.gz", "--runs", "2")
    assert (code, shown.count(": the same bits")) == (0, 2), shown
