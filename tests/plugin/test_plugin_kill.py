"""Processes that end without warning: what is named, what is judged, and what comes after."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.plugin.sessions import change, counted, run, run_apart, with_claims

pytestmark = pytest.mark.thorough

KILLS = 2


OF_A_CLAIM = """
@claim("cheap", source="900")
@pytest.mark.parametrize("target", [1.0, 2.0, 3.0])
def test_cheap(trials, target):
    assert trials(Line(target=target)).slope > -9

@claim("it exits", source="900")
def test_exits(trials):
    import os, signal
    if {when}trials(Line(target=2.5)).slope > -9:
        os.kill(os.getpid(), signal.SIGKILL)

@claim("dear", source="900")
def test_dear(trials):
    assert trials(Line(target=9.0)).slope > -9

@pytest.mark.parametrize("n", range(3))
def test_unit(n): pass
"""


@pytest.mark.parametrize("when", ["", "True or "], ids=["once it is judged", "as it is read"])
def test_a_claim_that_ends_its_worker_is_named_once_and_all_others_are_judged(
    outside_project, when
):
    result = run_apart(with_claims(outside_project, OF_A_CLAIM.format(when=when)), "-n", "2")
    assert result.ret == 1
    result.assert_outcomes(passed=7, failed=1)
    shown = result.stdout.str()
    assert "crashed while running 'test_lines.py::test_exits'" in shown
    assert len(re.findall(r"^FAILED test_lines\.py::test_exits", shown, re.MULTILINE)) == 1
    assert "failed: 1\n  error: pytest test_lines.py::test_exits\n" in shown
    assert "never judged" not in shown
    assert set(re.findall(r"^reproduced +900/(\S+)", shown, re.MULTILINE)) == {
        *("cheap[1.0]", "cheap[2.0]", "cheap[3.0]", "dear"),
    }


def test_the_time_limit_of_a_test_is_not_that_of_its_training(outside_project):
    pytest.importorskip("pytest_timeout")
    change(outside_project, "sleep(0)", "sleep(0.2)")
    result = run(outside_project, "-p", "pytest_timeout", "--timeout", "1")
    result.assert_outcomes(passed=2, failed=1, skipped=1)


def results(store):
    return {path.parent.name: path.read_bytes() for path in (store / "runs").rglob("result.json")}


def command(store):
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "2", "--store", store]


def test_killed_sessions_end_in_the_results_of_an_undisturbed_one(outside_project):
    project = outside_project
    undisturbed, killed = project.path / "undisturbed", project.path / "killed"
    run(project, "--store", str(undisturbed))
    change(project, "sleep(0)", "sleep(0.2)")  # slow enough to be killed at its work
    moments = random.Random(4)
    for _ in range(KILLS):
        wanted = len(results(killed)) + moments.randint(1, 4)
        session = subprocess.Popen(command(killed), cwd=project.path, start_new_session=True)
        while len(results(killed)) < wanted and session.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 0.2))  # a run takes as long
        before = results(killed)
        os.killpg(session.pid, signal.SIGKILL)  # the controller and its workers at once
        session.wait()
        assert before.items() <= results(killed).items()
    last = subprocess.run(command(killed), cwd=project.path, capture_output=True, text=True)
    assert counted(last.stdout) == ["2", "1", "·", "1"]
    assert sorted(results(killed).values()) == sorted(results(undisturbed).values())
